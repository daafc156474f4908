import torch
from hypothesis import given
from torch_geometric.data import Data

from graphgym_nc.fingerprint import data_fingerprint, edge_fingerprint
from tests.reference import dense_graph, graphs


@given(graphs())
def test_edges_in_any_order(graph):
    edge_index, _ = graph
    order = torch.randperm(edge_index.size(1))
    assert torch.equal(edge_fingerprint(edge_index), edge_fingerprint(edge_index[:, order]))


def test_any_change_shows():
    edge_index = dense_graph()
    seen = {edge_fingerprint(edge_index).item()}
    for i in range(edge_index.size(1)):
        fewer = torch.cat([edge_index[:, :i], edge_index[:, i + 1 :]], dim=1)
        seen.add(edge_fingerprint(fewer).item())
    seen.add(edge_fingerprint(edge_index.flip(0)[:, :5]).item())
    seen.add(edge_fingerprint(edge_index + 1).item())
    assert len(seen) == edge_index.size(1) + 3


def test_fingerprint_of_a_data_set():
    data = Data(x=torch.arange(6.0).view(3, 2), edge_index=torch.tensor([[0, 1], [1, 2]]))
    first = data_fingerprint(data)
    assert first == data_fingerprint(data.clone())
    for key, value in (('x', data.x + 1), ('x', data.x.view(2, 3)), ('y', torch.ones(1))):
        changed = data.clone()
        changed[key] = value
        assert data_fingerprint(changed) != first
