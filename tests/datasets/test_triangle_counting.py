import networkx as nx
import pytest
import torch
from torch_geometric.utils import degree, to_networkx

from graphgym_nc.datasets import TriangleCounting


def test_triangle_counting(tmp_path):
    dataset = TriangleCounting(tmp_path, num_graphs=200)
    assert str(dataset) == 'TriangleCounting(200)'
    assert [index.numel() for index in dataset.split_idxs] == [60, 40, 100]
    counts = torch.tensor(
        [sum(nx.triangles(to_networkx(data, to_undirected=True)).values()) / 3 for data in dataset]
    )
    torch.testing.assert_close(dataset.y, counts / counts.std())
    for i, data in enumerate(dataset):
        assert data.validate()
        assert data.x.eq(1).all()
        if i % 2 == 1:
            num_nodes = data.num_nodes
            full = {10: 6, 15: 6, 20: 5, 30: 5}[num_nodes]
            assert data.num_edges == num_nodes * full - 2 * num_nodes
            assert degree(data.edge_index[0], num_nodes).max() <= full
    assert all(data.num_nodes == 10 for data in dataset[::2])
    again = TriangleCounting(tmp_path / 'again', num_graphs=200)
    assert torch.equal(again._data.edge_index, dataset._data.edge_index)


def test_the_first_graphs_are_those_of_the_whole(tmp_path):
    whole = TriangleCounting(tmp_path, num_graphs=100)
    first = TriangleCounting(tmp_path / 'none', num_graphs=100, first=25)
    assert [index.tolist() for index in first.split_idxs] == [
        list(range(25)), list(range(25, 45)), list(range(45, 70)),
    ]  # fmt: skip
    numbers = [*range(25), *range(30, 50), *range(50, 75)]
    for i, j in enumerate(numbers):
        assert torch.equal(first[i].edge_index, whole[j].edge_index)
    assert not (tmp_path / 'none').exists()


def test_bad_input(tmp_path):
    with pytest.raises(ValueError, match="'num_graphs' is 3"):
        TriangleCounting(tmp_path, num_graphs=3)
