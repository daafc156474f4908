import networkx as nx
import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.utils import from_networkx

from graphgym_nc.transforms import AddTriangleCount


@pytest.mark.parametrize('features', [0, 1, 3])
def test_counts_are_those_of_networkx(features):
    graph = nx.gnp_random_graph(12, 0.5, seed=0)
    data = from_networkx(graph)
    if features:
        data.x = torch.randn(12, features)
    out = AddTriangleCount()(data)
    expected = [float(number) for number in nx.triangles(graph).values()]
    assert max(expected) > 1
    assert out.x[:, -1].tolist() == expected
    assert out.x.shape == (12, features + 1)
    if features:
        assert torch.equal(out.x[:, :-1], data.x)
    assert str(AddTriangleCount()) == 'AddTriangleCount()'


def test_the_last_node_may_be_in_no_triangle():
    edge_index = torch.tensor([[0, 1, 2, 3], [1, 2, 0, 0]])
    data = AddTriangleCount()(Data(edge_index=edge_index, num_nodes=5))
    assert data.x.tolist() == [[1.0], [1.0], [1.0], [0.0], [0.0]]


def test_no_edges_at_all():
    with pytest.raises(ValueError, match=r"needs 'data\.edge_index'"):
        AddTriangleCount()(Data(x=torch.zeros(2, 1)))
