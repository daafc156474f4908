import copy
import pickle

import pytest
import torch
from torch_geometric.data import Batch, Data, InMemoryDataset
from torch_geometric.loader import DataLoader

from graphgym_nc.structures import data as module
from graphgym_nc.structures.data import (
    StructureData,
    StructureLoader,
    TooLargeError,
    attach,
    check_size,
)


@pytest.fixture(autouse=True)
def indices(monkeypatch):
    """Two edges of every graph, by their place in the list of edges: `toy_index` points to
    nodes, `toy_edge` to columns of `edge_index`.
    """
    monkeypatch.setitem(module.INDICES, 'toy_edge', 'edge_index')


def graph(num_nodes, edges, chosen, **more):
    edge_index = torch.tensor(edges).T
    data = Data(edge_index=edge_index, num_nodes=num_nodes, **more)
    toy = torch.tensor(chosen)
    return attach(data, {'toy_edge': toy, 'toy_index': edge_index[:, toy]})


def graphs():
    return [graph(3, [(0, 1), (1, 2)], [1]), graph(2, [(1, 0), (0, 1)], [0, 1])]


def assert_batched(batch):
    assert batch.toy_edge.tolist() == [1, 2, 3]
    assert torch.equal(batch.edge_index[:, batch.toy_edge], batch.toy_index)
    assert batch.toy_index.tolist() == [[1, 4, 3], [2, 3, 4]]


def test_indices_go_on_from_graph_to_graph():
    assert_batched(Batch.from_data_list(graphs()))
    assert_batched(next(iter(DataLoader(graphs(), batch_size=2))))
    first, second = Batch.from_data_list(graphs()).to_data_list()
    assert first.toy_edge.tolist() == [1]
    assert second.toy_edge.tolist() == [0, 1]


@pytest.mark.parametrize('copied', [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_batch_alike(copied):
    assert_batched(Batch.from_data_list([copied(data) for data in graphs()]))


def test_collated_and_saved_graphs_batch_alike(tmp_path):
    data, slices = InMemoryDataset.collate(graphs())
    torch.save((data.to_dict(), slices), tmp_path / 'kept.pt')
    dataset = InMemoryDataset()
    kept, dataset.slices = torch.load(tmp_path / 'kept.pt', weights_only=True)
    dataset._data = StructureData.from_dict(kept)
    assert_batched(Batch.from_data_list(list(dataset)))


def test_attach_keeps_all_else():
    data = graph(2, [(0, 1)], [0], x=torch.ones(2, 3), y=torch.tensor([1]))
    assert data.x.shape == (2, 3)
    assert data.num_nodes == 2
    assert data.y.item() == 1
    plain = Data(num_nodes=1)
    attach(plain, {'toy_edge': torch.tensor([0])})
    assert 'toy_edge' not in plain  # a graph is not changed behind its owner's back


def test_attach_gives_a_batch_its_own():
    batch = Batch.from_data_list([Data(num_nodes=1), Data(num_nodes=2)])
    assert attach(batch, {'toy_index': torch.tensor([0])}) is batch
    assert batch.num_graphs == 2


def find_all(batch):
    return attach(batch, {'toy_edge': torch.arange(batch.num_edges)})


@pytest.mark.parametrize('workers', [0, 1])
def test_a_loader_that_finds_structures(workers):
    plain = [Data(edge_index=torch.zeros(2, 3, dtype=torch.long), num_nodes=1) for _ in range(3)]
    batches = [*StructureLoader(plain, find_all, batch_size=2, num_workers=workers)]
    assert [batch.toy_edge.numel() for batch in batches] == [6, 3]


def test_check_size():
    check_size(10**6, 'toys')
    with pytest.raises(TooLargeError, match=r'toys would take 9\.09e\+05 GB, more than half of'):
        check_size(976 * 10**12, 'toys')
