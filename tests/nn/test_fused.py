import copy
import dataclasses
import os
import subprocess
import sys

import pytest
import torch
from hypothesis import given, settings
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.nn import BatchNorm1d, Linear, ReLU, Sequential
from torch_geometric.nn import Linear as PygLinear

from graphgym_nc import TriangleIncidence, kernels
from graphgym_nc.benchmark.measure import peak_bytes
from graphgym_nc.nn import NCGNNConv, NCGNNEConv
from graphgym_nc.nn._fused import communicate_fused
from graphgym_nc.nn._stages import as_stages, flatten
from tests.kernels.test_triangles import cliques
from tests.nn.test_nc_conv import Hooked, paper_mlp, state
from tests.reference import dense_graph, graphs, naive_conv

D = 4

NETWORKS = {
    'paper': paper_mlp,
    'plain': lambda: Sequential(Linear(D, 6), ReLU(), Linear(6, D)),
    'no bias': lambda: Sequential(Linear(D, 9, bias=False), ReLU(), Linear(9, D, bias=False)),
    'one linear': lambda: Linear(D, D),
    'one stage': lambda: Sequential(Linear(D, D), BatchNorm1d(D), ReLU()),
    'no relu': lambda: Sequential(Linear(D, 8), BatchNorm1d(8), Linear(8, D), BatchNorm1d(D)),
    'three': lambda: Sequential(*paper_mlp(D, 7), PygLinear(7, D), ReLU()),
    'no affine': lambda: Sequential(Linear(D, D), BatchNorm1d(D, affine=False), ReLU()),
    'no statistics': lambda: Sequential(Linear(D, D), BatchNorm1d(D, track_running_stats=False)),
    'cumulative': lambda: Sequential(Linear(D, D), BatchNorm1d(D, momentum=None), ReLU()),
}

GRAPHS = {
    'few edges on triangles': (dense_graph(12, 0.3), 12),
    'many': (dense_graph(12, 0.8), 12),
    'twins': (cliques(9, 8), 17),
}


def error(tensors, expected):
    return max(
        float((a.double() - b).detach().norm() / (1 + b.detach().double().norm()))
        for a, b in zip(tensors, expected, strict=True)
    )


def assert_fused_equals_naive(conv, edge_index, num_nodes, edge_dim=None):
    """In float32, as near to the float64 reference as that allows."""
    stages = as_stages(list(flatten(conv.nn_communicate)))
    assert stages is not None
    reference = copy.deepcopy(conv).double()
    inputs = [torch.randn(num_nodes, D, requires_grad=True)]
    if edge_dim is not None:
        inputs.append(torch.randn(edge_index.size(1), edge_dim, requires_grad=True))
    exact = [tensor.detach().double().requires_grad_() for tensor in inputs]
    for training in (True, True, False):
        conv.train(training)
        reference.train(training)
        x, *edge_attr = inputs
        ours = state(conv, x, conv(x, edge_index, *edge_attr), inputs)
        x, *edge_attr = exact
        theirs = state(reference, x, naive_conv(reference, x, edge_index, *edge_attr), exact)
        assert error(ours, theirs) < 1e-4


@pytest.mark.parametrize('graph', GRAPHS)
@pytest.mark.parametrize('name', NETWORKS)
def test_equals_naive_reference(name, graph):
    torch.manual_seed(1)
    conv = NCGNNConv(Sequential(Linear(D, 5), ReLU()), NETWORKS[name](), eps=0.3)
    assert_fused_equals_naive(conv, *GRAPHS[graph])


@pytest.mark.parametrize('name', ['paper', 'plain'])
def test_edge_features(name):
    torch.manual_seed(1)
    conv = NCGNNEConv(Sequential(Linear(D, 5), ReLU()), NETWORKS[name](), edge_dim=3)
    assert_fused_equals_naive(conv, dense_graph(12, 0.8), 12, edge_dim=3)


@settings(max_examples=30)
@given(graphs(min_nodes=3))
def test_equals_naive_reference_on_any_graph(graph):
    torch.manual_seed(0)
    # BatchNorm over a few messages that are nearly equal has no stable gradient.
    mlp2 = Sequential(Linear(D, D), ReLU(), Linear(D, D), ReLU())
    assert_fused_equals_naive(NCGNNConv(Sequential(Linear(D, D)), mlp2), *graph)


@pytest.mark.parametrize('threads', [1, 2])
def test_many_rows_on_several_threads(threads):
    torch.manual_seed(0)
    edge_index, x = dense_graph(120, 0.6), torch.randn(120, 30)
    conv = NCGNNConv(Sequential(), paper_mlp(30, 30))
    other = copy.deepcopy(conv).double()
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        found = state(conv, x, conv(x, edge_index), [])
    finally:
        torch.set_num_threads(before)
    assert error(found, state(other, x, other(x.double(), edge_index), [])) < 1e-5


def strided(vector):
    return torch.nn.Parameter(vector.detach().repeat_interleave(2)[::2])


def test_parameters_of_all_kinds():
    torch.manual_seed(0)
    mlp2 = paper_mlp()
    mlp2[1].eps = 1  # not a float
    for module, name in ((mlp2[0], 'bias'), (mlp2[1], 'weight'), (mlp2[1], 'bias')):
        setattr(module, name, strided(getattr(module, name)))
    conv = NCGNNConv(Sequential(Linear(D, 5)), mlp2)
    assert_fused_equals_naive(conv, dense_graph(12, 0.8), 12)


def test_weights_of_another_type_go_to_torch():
    torch.manual_seed(0)
    conv, x, edge_index = NCGNNConv(Sequential(), paper_mlp()), torch.randn(12, D), dense_graph(12)
    incidence = TriangleIncidence.build(edge_index, 12)
    other = dataclasses.replace(incidence, weight=incidence.weight.long())
    assert torch.allclose(conv(x, edge_index, other), conv(x, edge_index, incidence), atol=1e-5)


def test_fewer_threads_than_asked_for():
    script = """
import torch
from torch.nn import Linear, BatchNorm1d, ReLU, Sequential
from graphgym_nc import kernels
from graphgym_nc.nn import NCGNNConv

torch.set_num_threads(2)
torch.manual_seed(0)
edge_index, x = torch.combinations(torch.arange(100)).t(), torch.randn(100, 16)
conv = NCGNNConv(Sequential(), Sequential(Linear(16, 16), BatchNorm1d(16), ReLU()))
for _ in range(20):
    garbage = torch.full((1 << 16,), torch.nan)
    del garbage
    found = conv(x, edge_index)
with kernels.use('torch'):
    torch.testing.assert_close(found, conv(x, edge_index), rtol=1e-3, atol=1e-3)
"""
    for limit in ({'OMP_THREAD_LIMIT': '1'}, {'OMP_DYNAMIC': 'true'}):
        subprocess.run([sys.executable, '-c', script], check=True, env={**os.environ, **limit})


def test_memory_without_a_backward_pass_does_not_grow_with_depth():
    torch.manual_seed(0)
    edge_index, x = dense_graph(100, 0.5), torch.randn(100, 24)
    incidence = TriangleIncidence.build(edge_index, 100)
    layers = [module for _ in range(6) for module in (Linear(24, 24), ReLU())]
    stages = as_stages(layers)
    with torch.no_grad():
        peak = peak_bytes(lambda: communicate_fused(stages, x, incidence))
    assert peak < 3.5 * incidence.num_edges * 24 * 4


def test_no_number_stays_none():
    conv = NCGNNConv(Sequential(), Sequential(Linear(D, D), ReLU(), Linear(D, D)))
    x = torch.randn(12, D)
    x[3, 0] = torch.nan
    assert conv(x, dense_graph(12, 0.8)).isnan().any(dim=1).sum() > 6


@pytest.mark.parametrize(
    'network',
    [
        Sequential(Linear(D - 1, D), ReLU()),
        Sequential(Linear(D, 9), ReLU(), Linear(10, D)),
    ],
)
def test_networks_that_do_not_fit_are_refused(network):
    with pytest.raises(RuntimeError):
        NCGNNConv(Sequential(), network)(torch.randn(12, D), dense_graph(12, 0.8))


@pytest.mark.parametrize(
    'network',
    [
        Sequential(ReLU(), Linear(D, D)),
        Sequential(Linear(D, D), torch.nn.Tanh()),
        Sequential(Linear(D, D), ReLU(), BatchNorm1d(D)),
        Sequential(Hooked()),
        Sequential(Linear(D, D), torch.nn.SyncBatchNorm(D)),
        Sequential(),
    ],
)
def test_networks_that_are_not_made_of_stages(network):
    assert as_stages(list(flatten(network))) is None


def test_what_kernels_are_used_for(monkeypatch):
    called = []

    def spy(*args):
        called.append(True)
        return communicate_fused(*args)

    monkeypatch.setattr('graphgym_nc.nn._fused.communicate_fused', spy)
    edge_index, num_nodes = GRAPHS['many']
    incidence = TriangleIncidence.build(edge_index, num_nodes)
    conv, x = NCGNNConv(Sequential(), paper_mlp()), torch.randn(num_nodes, D)

    def uses_kernels(x, incidence=incidence):
        called.clear()
        copy.deepcopy(conv).to(x.dtype)(x, incidence.edge_index, incidence)
        return bool(called)

    assert uses_kernels(x)
    assert not uses_kernels(x.double())
    with kernels.use('torch'):
        assert not uses_kernels(x)
    with torch.autocast('cpu'):
        assert not uses_kernels(x)
    none = TriangleIncidence.build(edge_index[:, :0], num_nodes)
    assert not uses_kernels(x, none)


def test_stages_that_kernels_would_misread():
    (stage,) = as_stages([Linear(D, D), BatchNorm1d(D)])
    assert stage.fits(D)
    assert not stage.fits(D + 1)
    stage.norm.half()
    assert not stage.fits(D)
    (stage,) = as_stages([Linear(D, D), BatchNorm1d(1)])
    assert not stage.fits(D)
    norm = BatchNorm1d(D)
    for running_var in (torch.ones(D, 2)[:, 0], torch.ones(D + 1), None):
        norm.running_var = running_var
        (stage,) = as_stages([Linear(D, D), norm])
        assert not stage.fits(D)


def test_tensors_without_data_take_the_torch_path():
    edge_index, num_nodes = GRAPHS['many']
    incidence = TriangleIncidence.build(edge_index, num_nodes)
    conv = NCGNNConv(paper_mlp(D), paper_mlp(D))
    real = torch.randn(num_nodes, D)
    with FakeTensorMode(allow_non_fake_inputs=True):
        for x in (real, torch.randn(num_nodes, D)):
            out = conv(x, edge_index, incidence)
            assert isinstance(out, FakeTensor)
            assert out.shape == (num_nodes, D)
