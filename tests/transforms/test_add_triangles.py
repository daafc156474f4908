import copy
import pickle

import pytest
import torch
from torch_geometric.data import Batch, Data, HeteroData, InMemoryDataset
from torch_geometric.loader import DataLoader

from graphgym_nc import find_triangles
from graphgym_nc.transforms import AddTriangles
from tests.reference import dense_graph


def toy(seed=0, num_nodes=9):
    return Data(
        x=torch.ones(num_nodes, 2),
        edge_index=dense_graph(num_nodes, seed=seed),
        y=torch.tensor([seed]),
    )


def test_add_triangles():
    transform = AddTriangles()
    assert str(transform) == 'AddTriangles()'
    data = toy()
    before = copy.copy(data)
    out = transform(data)
    assert data.to_dict().keys() == before.to_dict().keys()
    assert torch.equal(out.triangle_index, find_triangles(data.edge_index))
    assert out.triangle_check.shape == (1,)
    assert pickle.loads(pickle.dumps(transform))(data).triangle_index.equal(out.triangle_index)
    assert pickle.loads(pickle.dumps(out)).triangle_index.equal(out.triangle_index)
    assert out.to('meta').triangle_index.is_meta


def test_add_triangles_counts_isolated_nodes():
    out = AddTriangles()(Data(edge_index=torch.tensor([[0], [1]]), num_nodes=5))
    assert out.triangle_index.shape == (3, 0)
    assert out.num_nodes == 5


@pytest.mark.parametrize('num_workers', [0, 2])
def test_add_triangles_batches(num_workers):
    data_list = [AddTriangles()(toy(seed, 5 + seed)) for seed in range(4)]
    loader = DataLoader(data_list, batch_size=4, num_workers=num_workers)
    batch = next(iter(loader))
    assert torch.equal(batch.triangle_index, find_triangles(batch.edge_index))
    for data, again in zip(data_list, batch.to_data_list(), strict=True):
        assert torch.equal(again.triangle_index, data.triangle_index)


class ToyDataset(InMemoryDataset):
    processed_file_names = ('data.pt',)

    def __init__(self, root, **kwargs):
        super().__init__(root, **kwargs)
        self.load(self.processed_paths[0])

    def process(self):
        self.save(
            [self.pre_transform(toy(seed, 5 + seed)) for seed in range(3)], self.processed_paths[0]
        )


def test_add_triangles_survives_caching(tmp_path):
    for _ in range(2):  # processed, then from the cache
        dataset = ToyDataset(tmp_path, pre_transform=AddTriangles())
        for data in dataset:
            assert torch.equal(data.triangle_index, find_triangles(data.edge_index))
        batch = Batch.from_data_list(list(dataset))
        assert torch.equal(batch.triangle_index, find_triangles(batch.edge_index))


def test_add_triangles_of_bad_input():
    with pytest.raises(TypeError, match='homogeneous'):
        AddTriangles()(HeteroData())
    with pytest.raises(ValueError, match=r'data\.edge_index'):
        AddTriangles()(Data(x=torch.ones(2, 1)))
