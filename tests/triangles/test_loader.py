import pytest
import torch
from torch_geometric.data import Data, InMemoryDataset

from graphgym_nc import TriangleIncidence
from graphgym_nc.graphgym.layer import incidence_of
from graphgym_nc.training.data import DataModule
from graphgym_nc.transforms import AddTriangles
from graphgym_nc.triangles.loader import TriangleLoader
from tests.incidences import assert_same
from tests.reference import dense_graph


class Graphs(InMemoryDataset):
    def __init__(self):
        super().__init__()
        sizes = [5, 9, 7, 12, 8, 6]
        graphs = [
            Data(x=torch.ones(n, 1), edge_index=dense_graph(n, seed=n), y=torch.tensor([n % 2]))
            for n in sizes
        ]
        self.data, self.slices = self.collate(graphs)


@pytest.mark.parametrize('workers', [0, 2])
def test_batches_bring_their_triangles(workers, monkeypatch):
    part = Graphs()[torch.tensor([4, 0, 3, 5])]
    loader = TriangleLoader(part, batch_size=3, num_workers=workers)
    sizes = []
    for batch in loader:
        expected = TriangleIncidence.build(batch.edge_index, batch.num_nodes)
        assert_same(batch.triangle_incidence, expected)
        assert batch.triangle_incidence.belongs_to(batch.edge_index)
        with monkeypatch.context() as patch:  # nothing is found again
            patch.delattr('graphgym_nc.graphgym.layer.TriangleIncidence.from_data')
            assert_same(incidence_of(batch), expected)
        moved = batch.to('meta')
        assert moved.triangle_incidence.weight.is_meta
        sizes.append(batch.num_graphs)
    assert sizes == [3, 1]


def test_triangles_of_the_data_are_used_where_torch_computes(monkeypatch):
    graphs = [AddTriangles()(graph) for graph in Graphs()]
    monkeypatch.delattr('graphgym_nc.triangles.build.list_triangles')
    (batch,) = TriangleLoader(graphs, 'torch', batch_size=6)
    assert_same(
        batch.triangle_incidence, TriangleIncidence.build(batch.edge_index, batch.num_nodes)
    )


def test_attached_triangles_of_other_edges_are_not_used():
    (batch,) = TriangleLoader(Graphs(), batch_size=6)
    batch.edge_index = batch.edge_index[:, 2:]
    assert_same(incidence_of(batch), TriangleIncidence.build(batch.edge_index, batch.num_nodes))


@pytest.mark.parametrize(('workers', 'loader'), [(2, 'TriangleLoader'), (0, 'DataLoader')])
def test_loaders_of_a_run(cfg, workers, loader):
    cfg.gnn.layer_type, cfg.num_workers = 'ncgnnconv', workers
    cfg.dataset.format, cfg.dataset.name, cfg.nc.counting_graphs = 'NC', 'TriangleCounting', 20
    cfg.dataset.task, cfg.dataset.task_type = 'graph', 'regression'
    assert {type(each).__name__ for each in DataModule().loaders} == {loader}
