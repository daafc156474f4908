import copy

import pytest
import torch
from torch.nn import BatchNorm1d, Linear, ReLU, Sequential

from graphgym_nc import TriangleIncidence, kernels
from graphgym_nc.nn import NCGNNConv
from graphgym_nc.nn._fused import _ROWS_AT_ONCE, _product
from tests.nn.test_fused import GRAPHS, NETWORKS
from tests.nn.test_nc_conv import paper_mlp
from tests.reference import dense_graph

D = 4


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


def test_infinite_rows_that_are_cut_off():
    torch.manual_seed(0)
    mlp2 = Sequential(Linear(D, D), ReLU(), Linear(D, D), ReLU(), Linear(D, D))
    with torch.no_grad():
        mlp2[0].weight.fill_(1.0)
        mlp2[2].weight.fill_(-1e3)
    conv, x = NCGNNConv(Sequential(), mlp2), torch.full((12, D), 1e36, requires_grad=True)
    conv(x, dense_graph(12)).sum().backward()
    assert mlp2[0].weight.grad.isfinite().all()


@pytest.mark.parametrize('relu', [False, True])
def test_gradients_of_rows_that_are_no_numbers(relu):
    torch.manual_seed(0)
    layers = [Linear(D, D), BatchNorm1d(D), *([ReLU()] if relu else [])]
    conv = NCGNNConv(Sequential(), Sequential(*layers)).eval()
    edge_index, x = dense_graph(12, 0.8), torch.randn(12, D)
    x[0, 0] = torch.nan
    gradients = []
    for kernel in ('numba', 'torch'):
        with kernels.use(kernel):
            out = conv(x.requires_grad_(), edge_index)
            wanted = [x, *conv.nn_communicate.parameters()]
            gradients.append(torch.autograd.grad(out.sum(), wanted))
    for found, expected in zip(*gradients, strict=True):
        torch.testing.assert_close(found, expected, equal_nan=True)


def test_backward_pass_under_autocast():
    torch.manual_seed(0)
    edge_index, x = dense_graph(60, 0.7), torch.randn(60, 16, requires_grad=True)
    conv = NCGNNConv(Sequential(), paper_mlp(16, 16))
    wanted = [x, *conv.parameters()]
    expected = torch.autograd.grad(conv(x, edge_index).sum(), wanted)
    out = conv(x, edge_index).sum()
    with torch.autocast('cpu', dtype=torch.bfloat16):
        found = torch.autograd.grad(out, wanted)
    for a, b in zip(found, expected, strict=True):
        assert torch.equal(a, b)


def test_statistics_that_change_before_the_backward_pass():
    conv, x = NCGNNConv(Sequential(), paper_mlp()).eval(), torch.randn(12, D, requires_grad=True)
    out = conv(x, dense_graph(12)).sum()
    conv.nn_communicate[1].running_var.mul_(4)
    with pytest.raises(RuntimeError, match='modified by an inplace operation'):
        torch.autograd.grad(out, x, create_graph=True)


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
