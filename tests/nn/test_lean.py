import copy

import pytest
import torch
from hypothesis import given, settings
from torch.nn import BatchNorm1d, Linear, ReLU, Sequential

from graphgym_nc import TriangleIncidence, kernels
from graphgym_nc.benchmark.measure import peak_bytes
from graphgym_nc.kernels import openmp
from graphgym_nc.nn import NCGNNConv, NCGNNEConv
from graphgym_nc.nn._communicate import communicate
from graphgym_nc.nn._lean import communicate_lean
from tests.kernels.test_triangles import cliques
from tests.nn.test_fused import error
from tests.nn.test_nc_conv import Doubled, state
from tests.reference import dense_graph, graphs, graphs_with_twins, naive_conv

GRAPHS = {'any': (dense_graph(12, 0.7), 12), 'twins': (cliques(9, 8), 17)}


def lean_conv(width, norm=BatchNorm1d, **options):
    norms = [] if norm is None else [norm(width)]
    return NCGNNConv(Sequential(), Sequential(Linear(width, width), *norms, ReLU()), **options)


def states(conv, reference, edge_index, num_nodes, width):
    """Outputs, gradients and statistics, and those of a reference in float64."""
    x = torch.randn(num_nodes, width, requires_grad=True)
    exact = x.detach().double().requires_grad_()
    for training in (True, True, False):
        conv.train(training)
        reference.train(training)
        ours = state(conv, x, conv(x, edge_index), [x])
        yield ours, state(reference, exact, naive_conv(reference, exact, edge_index), [exact])


@pytest.mark.parametrize('kernel', ['numba', 'torch'])
@pytest.mark.parametrize('graph', GRAPHS)
@pytest.mark.parametrize('width', [1, 16, 31, 48, 64, 70, 96, 154])
def test_equals_naive_reference_in_all_widths(width, graph, kernel):
    torch.manual_seed(1)
    conv = lean_conv(width, eps=0.3)
    with kernels.use(kernel):
        for ours, theirs in states(conv, copy.deepcopy(conv).double(), *GRAPHS[graph], width):
            assert error(ours, theirs) < 3e-4


NORMS = {
    'none': None,
    'no affine': lambda width: BatchNorm1d(width, affine=False),
    'no statistics': lambda width: BatchNorm1d(width, track_running_stats=False),
    'cumulative': lambda width: BatchNorm1d(width, momentum=None),
}


@pytest.mark.parametrize('kernel', ['numba', 'torch'])
@pytest.mark.parametrize('aggr', ['add', 'sqrt', 'learned'])
@pytest.mark.parametrize('norm', NORMS)
def test_equals_naive_reference_with_all_norms(norm, aggr, kernel):
    torch.manual_seed(1)
    mlp2 = lean_conv(6, NORMS[norm]).nn_communicate
    conv = NCGNNConv(Sequential(Linear(6, 3)), mlp2, communicate_aggr=aggr)
    with kernels.use(kernel):
        for ours, theirs in states(conv, copy.deepcopy(conv).double(), *GRAPHS['any'], 6):
            assert error(ours, theirs) < 1e-4


@settings(max_examples=30)
@given(graphs(min_nodes=3) | graphs_with_twins())
def test_equals_naive_reference_on_any_graph(graph):
    torch.manual_seed(0)
    conv = lean_conv(4, None)  # BatchNorm over a few messages has no stable gradient
    reference = copy.deepcopy(conv).double()
    for kernel in ('numba', 'torch'):
        with kernels.use(kernel):
            for ours, theirs in states(conv, reference, *graph, 4):
                assert error(ours, theirs) < 1e-4


@pytest.mark.parametrize('threads', [1, 2, 5])
@pytest.mark.parametrize('graph', [(dense_graph(70, 0.4), 70), (cliques(40, 30), 71)])
def test_threads_share_one_graph(threads, graph, monkeypatch):
    torch.manual_seed(0)
    monkeypatch.setattr(openmp, 'threads_for', lambda work: threads)
    edge_index, num_nodes = graph
    conv, x = lean_conv(20), torch.randn(num_nodes, 20, requires_grad=True)
    exact, z = copy.deepcopy(conv).double(), x.detach().double().requires_grad_()
    found = state(conv, x, conv(x, edge_index), [x])
    assert error(found, state(exact, z, exact(z, edge_index), [z])) < 1e-5


@pytest.mark.parametrize('training', [False, True])
def test_gradients_of_gradients(training):
    torch.manual_seed(0)
    edge_index, num_nodes = dense_graph(6, 0.8), 6
    conv = lean_conv(2).double().train(training)
    conv.nn_communicate[1].running_mean.normal_()
    incidence = TriangleIncidence.build(edge_index, num_nodes)
    x = torch.randn(num_nodes, 2, dtype=torch.double, requires_grad=True)
    inputs = [x, *conv.nn_communicate.parameters()]

    def function(*_):
        return communicate(conv.nn_communicate, x, incidence)

    assert torch.autograd.gradcheck(function, inputs)
    assert torch.autograd.gradgradcheck(function, inputs)


def test_double_backward_of_kernels():
    torch.manual_seed(0)
    edge_index, num_nodes = GRAPHS['twins']
    conv = lean_conv(5)
    exact = copy.deepcopy(conv).double()
    x = torch.randn(num_nodes, 5, requires_grad=True)

    def penalty(conv, x):
        (grad,) = torch.autograd.grad(conv(x, edge_index).square().sum(), x, create_graph=True)
        return torch.autograd.grad(grad.square().sum(), [x, *conv.nn_communicate.parameters()])

    theirs = penalty(exact, x.detach().double().requires_grad_())
    largest = max(tensor.norm() for tensor in theirs)
    for a, b in zip(penalty(conv, x), theirs, strict=True):
        assert (a.double() - b).norm() < 1e-5 * largest


def dense_case():
    incidence = TriangleIncidence.build(dense_graph(100, 0.5), 100)
    return incidence, torch.randn(100, 32, requires_grad=True), 4 * 32 * incidence.num_edges


@pytest.mark.parametrize('kernel', ['numba', 'torch'])
def test_keeps_nothing_for_every_edge(kernel):
    torch.manual_seed(0)
    incidence, x, edge_bytes = dense_case()
    kept = {}

    def pack(tensor):
        if tensor.dim() == 2:  # the others are of the batch, and kept with it anyway
            kept[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    mlp2 = lean_conv(32).nn_communicate
    with kernels.use(kernel), torch.autograd.graph.saved_tensors_hooks(pack, lambda x: x):
        communicate(mlp2, x, incidence)
    assert 0 < sum(kept.values()) < edge_bytes / 2


def test_kernels_make_no_row_of_an_edge():
    torch.manual_seed(0)
    incidence, x, edge_bytes = dense_case()
    mlp2 = lean_conv(32).nn_communicate
    assert peak_bytes(lambda: communicate(mlp2, x, incidence).sum().backward()) < edge_bytes / 2


def test_nodes_without_messages_may_hold_anything():
    torch.manual_seed(0)
    edge_index = torch.cat([dense_graph(12, 0.7), torch.tensor([[3, 12], [12, 3]])], dim=1)
    incidence = TriangleIncidence.build(edge_index, 14)
    x = torch.randn(14, 5)
    x[12:] = torch.inf
    mlp2 = lean_conv(5).nn_communicate
    found = communicate(mlp2, x.requires_grad_(), incidence)
    assert found.isfinite().all()
    found.square().sum().backward()
    assert x.grad.isfinite().all()


def test_what_it_is_used_for(monkeypatch):
    called = []

    def spy(*args):
        called.append(args)
        return communicate_lean(*args)

    monkeypatch.setattr('graphgym_nc.nn._lean.communicate_lean', spy)
    edge_index, x = dense_graph(12, 0.7), torch.randn(12, 4)

    def takes_it(conv, x=x, *args, edge_index=edge_index):
        called.clear()
        conv(x, edge_index, *args)
        return bool(called)

    assert takes_it(lean_conv(4))
    assert not takes_it(lean_conv(4).double(), x.double())
    with kernels.use('torch'):
        assert not takes_it(lean_conv(4))
    with torch.autocast('cpu'):
        assert not takes_it(lean_conv(4))
    assert not takes_it(lean_conv(4).bfloat16(), x.bfloat16())
    assert not takes_it(lean_conv(4, Doubled))
    for layers in ([Linear(4, 4)], [Linear(4, 4), ReLU(), Linear(4, 4), ReLU()]):
        assert not takes_it(NCGNNConv(Sequential(), Sequential(*layers)))
    with_edges = NCGNNEConv(Sequential(Linear(4, 4)), Sequential(Linear(4, 4), ReLU()))
    assert not takes_it(with_edges, x, torch.randn(edge_index.size(1), 4))
    triangle = torch.tensor([[0, 1, 2], [1, 2, 0]])  # has no fewer nodes than edges
    assert not takes_it(lean_conv(4), x[:3], edge_index=triangle)
