import copy
from dataclasses import fields

import pytest
import torch
from torch.nn import BatchNorm1d, Linear, ReLU, Sequential
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch_geometric.data import Batch, Data, InMemoryDataset

from graphgym_nc import TriangleIncidence
from graphgym_nc.graphgym.layer import incidence_of
from graphgym_nc.nn import NCGNNConv
from graphgym_nc.training.data import DataModule
from graphgym_nc.transforms import AddTriangles
from graphgym_nc.triangles.loader import TriangleLoader, move
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


class Waits(TorchDispatchMode):
    """Within this context, whatever waits for the device of the meta tensors is an error."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        tensors = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
        if any(tensor.is_meta for tensor in tensors):
            aten, operation = torch.ops.aten, func.overloadpacket
            waits = operation in {
                aten._local_scalar_dense, aten.nonzero, aten.masked_select, aten.equal,
                aten._unique2, aten.unique_dim, aten.is_nonzero, aten.bincount,
            }  # fmt: skip
            waits |= operation is aten.repeat_interleave and kwargs.get('output_size') is None
            waits |= operation is aten.index and any(
                index is not None and index.dtype == torch.bool for index in args[1]
            )
            waits |= operation is aten._to_copy and str(kwargs.get('device', 'meta')) != 'meta'
            waits |= operation is aten.copy_ and not args[0].is_meta
            assert not waits, f'{func} waits for the device'
        return func(*args, **kwargs)


@pytest.mark.parametrize(
    'wait',
    [
        lambda x: x.sum().item(),
        lambda x: x.cpu(),
        lambda x: x.nonzero(),
        lambda x: x[x > 0],
        lambda x: torch.equal(x, x),
        lambda x: torch.empty(3).copy_(x),
        lambda x: x.repeat_interleave(torch.empty(3, dtype=torch.long, device='meta')),
    ],
)
def test_what_waits_is_found(wait):
    with Waits(), pytest.raises(AssertionError, match='waits for the device'):
        wait(torch.empty(3, device='meta'))


@pytest.mark.parametrize('workers', [0, 2])
@pytest.mark.parametrize('stages', [1, 2])
def test_from_loader_to_gradients_without_waiting(workers, stages):
    torch.manual_seed(0)
    layers = [Linear(1, 1), BatchNorm1d(1), ReLU()]
    mlp2 = Sequential(*(copy.deepcopy(layer) for _ in range(stages) for layer in layers))
    conv = NCGNNConv(Sequential(*layers), mlp2, communicate_aggr='sqrt').to('meta')
    for batch in TriangleLoader(Graphs(), batch_size=3, num_workers=workers):
        with Waits():
            moved = move(batch, 'meta')
            assert moved.triangle_incidence.is_of(moved.edge_index)
            incidence = incidence_of(moved)
            assert incidence is moved.triangle_incidence
            conv(moved.x, moved.edge_index, incidence).sum().backward()
    assert all(parameter.grad.is_meta for parameter in conv.parameters())


def test_moves_to_where_it_is_asked_for():
    (batch,) = TriangleLoader(Graphs(), batch_size=6)
    expected = batch.triangle_incidence
    assert_same(move(batch, 'cpu').triangle_incidence, expected)
    assert batch.triangle_incidence.edge_index is batch.edge_index
    batch.edge_index = batch.edge_index[:, 2:]  # to which the triangles do not belong
    moved = move(batch, 'meta')
    assert moved.triangle_incidence.weight.is_meta
    assert not moved.triangle_incidence.is_of(moved.edge_index)
    plain = Data(x=torch.ones(2, 1))
    assert move(plain, 'meta').x.is_meta


def test_all_memory_is_pinned(monkeypatch):
    pinned = []

    def pin_memory(tensor, *_):  # which needs a GPU
        pinned.append(tensor.clone())
        return pinned[-1]

    (batch,) = TriangleLoader(Graphs(), batch_size=6)
    with monkeypatch.context() as patch:
        patch.setattr(torch.Tensor, 'pin_memory', pin_memory)
        incidence = batch.pin_memory().triangle_incidence
    parts = (incidence.neighbours, incidence.endpoints, incidence.opposite)
    tensors = [getattr(part, field.name) for part in parts for field in fields(part)]
    tensors += [incidence.weight, incidence.messages, incidence.edge_id, incidence.edge_index]
    assert all(any(tensor is other for other in pinned) for tensor in tensors)
    assert move(batch, 'meta').triangle_incidence.is_of(batch.edge_index)


def test_attached_triangles_of_other_edges_are_not_used():
    (batch,) = TriangleLoader(Graphs(), batch_size=6)
    batch.edge_index = batch.edge_index[:, 2:]
    assert_same(incidence_of(batch), TriangleIncidence.build(batch.edge_index, batch.num_nodes))


@pytest.mark.parametrize(
    ('workers', 'gpu', 'loader'),
    [
        (2, False, 'TriangleLoader'),
        (0, False, 'DataLoader'),
        (0, True, 'TriangleLoader'),
        (2, True, 'TriangleLoader'),
    ],
)
def test_loaders_of_a_run(cfg, workers, gpu, loader, monkeypatch):
    monkeypatch.setattr(torch.cuda, 'is_available', lambda: True)
    cfg.accelerator = 'gpu' if gpu else 'cpu'
    cfg.gnn.layer_type, cfg.num_workers = 'ncgnnconv', workers
    cfg.dataset.format, cfg.dataset.name, cfg.nc.counting_graphs = 'NC', 'TriangleCounting', 20
    cfg.dataset.task, cfg.dataset.task_type = 'graph', 'regression'
    datamodule = DataModule()
    assert {type(each).__name__ for each in datamodule.loaders} == {loader}
    assert {each.pin_memory for each in datamodule.loaders} == {gpu}
    batch = Batch.from_data_list([datamodule.dataset[0]])
    batch.triangle_incidence = TriangleIncidence.from_data(batch)
    moved = datamodule.transfer_batch_to_device(batch, torch.device('meta'), 0)
    assert moved.triangle_incidence.is_of(moved.edge_index)
