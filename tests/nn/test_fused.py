import copy
import dataclasses
import os
import subprocess
import sys

import pytest
import torch
from hypothesis import given, settings
from torch.nn import BatchNorm1d, Linear, ReLU, Sequential
from torch_geometric.nn import Linear as PygLinear

from graphgym_nc import TriangleIncidence, kernels
from graphgym_nc.benchmark.measure import peak_bytes
from graphgym_nc.nn import NCGNNConv, NCGNNEConv
from graphgym_nc.nn.fused import _ROWS_AT_ONCE, _product, communicate_fused
from graphgym_nc.nn.stages import as_stages, flatten
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


def test_statistics_of_equal_messages():
    # Constant features: no variance at all, which must not become negative.
    conv = NCGNNConv(Sequential(), paper_mlp())
    x, edge_index = torch.full((12, D), 1e3), dense_graph(12, 0.8)
    out = conv(x, edge_index)
    assert out.isfinite().all()
    assert conv.nn_communicate[1].running_var.tolist() == pytest.approx([0.9] * D)


def assert_same_variance(x, edge_index, rtol):
    """That of the first norm, as near to float64's as its inputs allow."""
    torch.manual_seed(0)
    conv = NCGNNConv(Sequential(), Sequential(Linear(D, D), BatchNorm1d(D, momentum=1.0)))
    exact = copy.deepcopy(conv).double()
    conv(x, edge_index)
    exact(x.double(), edge_index)
    found, expected = (c.nn_communicate[1].running_var.double() for c in (conv, exact))
    torch.testing.assert_close(found, expected, rtol=rtol, atol=0)


@pytest.mark.parametrize('clique', range(12, 18))  # of 66 to 136 edges
def test_statistics_of_a_sample_far_from_zero(clique):
    torch.manual_seed(1)
    edge_index = torch.combinations(torch.arange(clique)).t()
    assert_same_variance(1e4 + torch.randn(clique, D), edge_index, rtol=2e-3)


def test_statistics_far_from_zero():
    torch.manual_seed(1)
    assert_same_variance(1e3 + torch.randn(60, D), dense_graph(60, 0.5), rtol=1e-3)


def test_statistics_with_an_outlier_that_sends_no_message():
    torch.manual_seed(1)
    x = torch.cat([torch.full((1, D), 1e4), torch.randn(60, D)])
    assert_same_variance(x, 1 + dense_graph(60, 0.5), rtol=1e-4)


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


@pytest.mark.parametrize('wanted', ['x', 'nn_communicate.0.weight', 'nn_communicate.4.bias'])
@pytest.mark.parametrize('all_but', [False, True])
def test_gradients_that_nobody_wants(wanted, all_but):
    torch.manual_seed(0)
    edge_index, x = dense_graph(12, 0.8), torch.randn(12, D, requires_grad=True)
    conv = NCGNNConv(Sequential(), paper_mlp(), train_eps=False)
    inputs = {'x': x, **dict(conv.named_parameters())}
    expected = torch.autograd.grad(conv(x, edge_index).square().sum(), inputs.values())
    expected = dict(zip(inputs, expected, strict=True))
    for name, tensor in inputs.items():
        tensor.requires_grad_((name == wanted) != all_but)
    conv(x, edge_index).square().sum().backward()
    for name, tensor in inputs.items():
        if tensor.requires_grad:
            torch.testing.assert_close(tensor.grad, expected[name])
        else:
            assert tensor.grad is None


def test_second_backward_pass_through_the_same_graph():
    torch.manual_seed(0)
    edge_index, x = dense_graph(120, 0.7), torch.randn(120, 16, requires_grad=True)
    conv = NCGNNConv(Sequential(), paper_mlp(16, 16))
    out = conv(x, edge_index).square().sum()
    wanted = [x, *conv.parameters()]
    first = torch.autograd.grad(out, wanted, retain_graph=True)
    for a, b in zip(first, torch.autograd.grad(out, wanted), strict=True):
        assert torch.equal(a, b)


@pytest.mark.parametrize('shape', [(8, 8), (8, 16)])
@pytest.mark.parametrize('rows', [5, _ROWS_AT_ONCE, _ROWS_AT_ONCE + 1, 3 * _ROWS_AT_ONCE])
def test_product(rows, shape):
    left, right = torch.randn(rows, shape[0]), torch.randn(shape)
    expected = left.double() @ right.double()
    torch.testing.assert_close(_product(left, right).double(), expected, rtol=1e-4, atol=1e-5)


def test_running_statistics_tell_that_they_have_changed():
    conv = NCGNNConv(Sequential(), paper_mlp())
    norm = conv.nn_communicate[1]
    before = norm.running_mean._version, norm.running_var._version
    conv(torch.randn(12, D), dense_graph(12))
    assert norm.running_mean._version > before[0]
    assert norm.running_var._version > before[1]


def test_training_mode_of_a_network_made_for_inference():
    with torch.inference_mode():
        conv = NCGNNConv(Sequential(), paper_mlp())
        conv(torch.randn(12, D), dense_graph(12))
    assert conv.nn_communicate[1].num_batches_tracked == 1


def test_weights_of_another_type_go_to_torch():
    torch.manual_seed(0)
    conv, x, edge_index = NCGNNConv(Sequential(), paper_mlp()), torch.randn(12, D), dense_graph(12)
    incidence = TriangleIncidence.build(edge_index, 12)
    other = dataclasses.replace(incidence, weight=incidence.weight.long())
    assert torch.allclose(conv(x, edge_index, other), conv(x, edge_index, incidence), atol=1e-5)


def test_infinite_rows_that_are_cut_off():
    torch.manual_seed(0)
    mlp2 = Sequential(Linear(D, D), ReLU(), Linear(D, D), ReLU(), Linear(D, D))
    with torch.no_grad():
        mlp2[0].weight.fill_(1.0)
        mlp2[2].weight.fill_(-1e3)
    conv, x = NCGNNConv(Sequential(), mlp2), torch.full((12, D), 1e36, requires_grad=True)
    conv(x, dense_graph(12)).sum().backward()
    assert mlp2[0].weight.grad.isfinite().all()


def test_statistics_that_change_before_the_backward_pass():
    conv, x = NCGNNConv(Sequential(), paper_mlp()).eval(), torch.randn(12, D, requires_grad=True)
    out = conv(x, dense_graph(12)).sum()
    conv.nn_communicate[1].running_var.mul_(4)
    with pytest.raises(RuntimeError, match='modified by an inplace operation'):
        torch.autograd.grad(out, x, create_graph=True)


def test_statistics_that_are_no_longer_tracked():
    conv, x, edge_index = NCGNNConv(Sequential(), paper_mlp()), torch.randn(12, D), dense_graph(12)
    norm = conv.nn_communicate[1]
    norm.track_running_stats = False
    for kernel in ('numba', 'torch'):
        with kernels.use(kernel):
            conv(x, edge_index)
        assert norm.num_batches_tracked == 0
        assert norm.running_mean.eq(0).all()


@pytest.mark.parametrize('kernel', ['numba', 'torch'])
def test_gradient_of_a_gradient_with_shared_parameters(kernel):
    torch.manual_seed(0)
    edge_index, x = dense_graph(12, 0.8), torch.randn(12, D, requires_grad=True)
    linear, norm = Linear(D, D), BatchNorm1d(D)
    conv = NCGNNConv(Sequential(), Sequential(linear, norm, ReLU(), linear, norm, ReLU()))
    inputs = [x, linear.weight, norm.weight, norm.bias]
    with kernels.use(kernel):
        once, again = (
            torch.autograd.grad(
                conv(conv(x, edge_index), edge_index).square().sum(), inputs, create_graph=create
            )
            for create in (False, True)
        )
    for a, b in zip(once, again, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-3 * float(a.norm()))


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


def test_padding_without_deviation():
    conv = NCGNNConv(
        Sequential(), Sequential(Linear(D, 10), BatchNorm1d(10, eps=0.0), Linear(10, D))
    )
    assert conv(torch.randn(12, D), dense_graph(12, 0.8)).isfinite().all()


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


@pytest.mark.parametrize('name', NETWORKS)
def test_double_backward(name):
    torch.manual_seed(0)
    conv = NCGNNConv(Sequential(Linear(D, D)), NETWORKS[name]())
    edge_index, num_nodes = GRAPHS['many']

    def penalty(conv, x):
        (grad,) = torch.autograd.grad(conv(x, edge_index).square().sum(), x, create_graph=True)
        return torch.autograd.grad(grad.square().sum(), [x, *conv.parameters()], allow_unused=True)

    x = torch.randn(num_nodes, D, requires_grad=True)
    exact = copy.deepcopy(conv).double()
    ours = penalty(conv, x)
    theirs = penalty(exact, x.detach().double().requires_grad_())
    largest = max(tensor.detach().norm() for tensor in theirs if tensor is not None)
    for a, b in zip(ours, theirs, strict=True):
        zero = torch.zeros((), dtype=torch.double)
        difference = (zero if a is None else a.double()) - (zero if b is None else b)
        assert difference.detach().norm() < 1e-5 * largest


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

    monkeypatch.setattr('graphgym_nc.nn.fused.communicate_fused', spy)
    edge_index, num_nodes = GRAPHS['many']
    incidence = TriangleIncidence.build(edge_index, num_nodes)
    conv, x = NCGNNConv(Sequential(), paper_mlp()), torch.randn(num_nodes, D)

    def uses_kernels(x, incidence=incidence):
        called.clear()
        copy.deepcopy(conv).to(x.dtype)(x, edge_index, incidence)
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
    (stage,) = as_stages([Linear(D, D), BatchNorm1d(D)])
    for running_var in (torch.ones(D, 2)[:, 0], torch.ones(D + 1), None):
        stage.norm.running_var = running_var
        assert not stage.fits(D)


def test_keeps_two_rows_for_every_edge():
    num_nodes, channels = 100, 24
    edge_index = dense_graph(num_nodes, 0.5)
    incidence = TriangleIncidence.build(edge_index, num_nodes)
    conv = NCGNNConv(Sequential(), paper_mlp(channels, channels))
    row_bytes = incidence.num_edges * channels * 4
    kept = {}

    def pack(tensor):
        kept[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        conv(torch.randn(num_nodes, channels, requires_grad=True), edge_index, incidence)
    assert sorted(kept.values())[-2:] == [row_bytes, row_bytes]
    assert sum(size >= row_bytes for size in kept.values()) == 2
