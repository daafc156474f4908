"""A Linear layer with BatchNorm over all messages, beside torch's on a row for each."""

import copy

import hypothesis.strategies as st
import pytest
import torch
from hypothesis import given, settings
from torch.nn import BatchNorm1d, Linear, ReLU, Sequential

from graphgym_nc import TriangleIncidence, kernels
from graphgym_nc.nn import NCGNNConv
from graphgym_nc.nn._communicate import communicate
from graphgym_nc.nn._linear_batch_norm import LinearBatchNorm
from tests.reference import dense_graph, graphs

D = 5

NETWORKS = {
    'all': lambda: [Linear(D, D), BatchNorm1d(D), ReLU()],
    'no relu': lambda: [Linear(D, D), BatchNorm1d(D)],
    'no bias': lambda: [Linear(D, D, bias=False), BatchNorm1d(D), ReLU()],
    'not affine': lambda: [Linear(D, D), BatchNorm1d(D, affine=False), ReLU()],
    'no statistics': lambda: [Linear(D, D), BatchNorm1d(D, track_running_stats=False), ReLU()],
    'average': lambda: [Linear(D, D), BatchNorm1d(D, momentum=None, eps=0.1), ReLU()],
}


def block_of(name, dtype=torch.double):
    torch.manual_seed(0)
    layers = Sequential(*NETWORKS[name]()).to(dtype)
    for parameter in layers.parameters():
        parameter.data += torch.randn_like(parameter)
    return layers, LinearBatchNorm.of(list(layers), torch.empty(0, D, dtype=dtype))


def repeated(layers, rows, incidence):
    """Torch's own layers on a row for every message, and one of these for every edge."""
    edge = torch.arange(incidence.num_edges).repeat_interleave(incidence.weight)
    first = torch.cat([torch.zeros(1), incidence.weight.cumsum(0)[:-1]]).long()
    return layers(rows[edge])[first]


@pytest.mark.parametrize('where', ['nodes', 'nodes, again', 'edges'])
@pytest.mark.parametrize('name', NETWORKS)
def test_equals_layers_on_all_messages(name, where):
    layers, block = block_of(name)
    expected_layers = copy.deepcopy(layers)
    incidence = TriangleIncidence.build(dense_graph(12, 0.7), 12)
    x = torch.randn(12, D, dtype=torch.double, requires_grad=True)
    weights = torch.randn(incidence.num_edges, D, dtype=torch.double)
    for _ in range(2):
        if where == 'edges':
            out = block.over_edges(incidence.endpoints.row_sum(x), incidence)
        else:
            out = block.over_nodes(x, incidence, again='again' in where)
        rows = x[incidence.endpoints.col.view(-1, 2)].sum(1)
        expected = repeated(expected_layers, rows, incidence)
        torch.testing.assert_close(out, expected)
        found = torch.autograd.grad((out * weights).sum(), [x, *layers.parameters()])
        # The reference takes one row of all that are equal: the others have no gradient.
        wanted = [x, *expected_layers.parameters()]
        theirs = torch.autograd.grad((expected * weights).sum(), wanted)
        for a, b in zip(found, theirs, strict=True):
            torch.testing.assert_close(a, b)
        for a, b in zip(layers.buffers(), expected_layers.buffers(), strict=True):
            torch.testing.assert_close(a, b)


@pytest.mark.parametrize('where', ['nodes', 'edges'])
def test_gradients_of_gradients(where):
    layers, block = block_of('all')
    incidence = TriangleIncidence.build(dense_graph(7, 0.9), 7)

    def function(x, *parameters):
        named = dict(zip(dict(layers.named_parameters()), parameters, strict=True))
        for key, value in named.items():
            index, attribute = key.split('.')
            del layers[int(index)]._parameters[attribute]
            setattr(layers[int(index)], attribute, value)
        try:
            if where == 'nodes':
                return block.over_nodes(x, incidence, again=True)
            return block.over_edges(incidence.endpoints.row_sum(x), incidence)
        finally:
            for key, value in originals.items():
                index, attribute = key.split('.')
                delattr(layers[int(index)], attribute)
                layers[int(index)].register_parameter(attribute, value)

    originals = dict(layers.named_parameters())
    x = torch.randn(7, D, dtype=torch.double, requires_grad=True)
    inputs = (x, *(p.detach().clone().requires_grad_() for p in originals.values()))
    assert torch.autograd.gradcheck(function, inputs)
    assert torch.autograd.gradgradcheck(function, inputs)


@settings(max_examples=100)
@given(graphs(min_nodes=3), st.integers(0, 1 << 20), st.sampled_from([0.0, 1e-3, 1.0]))
def test_what_cancels_out_is_bounded(graph, seed, noise):
    # Rows of a node that are as near as can be to the opposite of those of its neighbours.
    incidence = TriangleIncidence.build(*graph)
    if incidence.num_edges == 0:
        return
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(incidence.num_nodes, 1, generator=generator).sign()
    x = x + noise * torch.randn(incidence.num_nodes, 1, generator=generator)
    linear, norm = Linear(1, 1, bias=False), BatchNorm1d(1, momentum=1.0)
    torch.nn.init.ones_(linear.weight)
    block = LinearBatchNorm.of([linear, norm], x)
    block.over_nodes(x, incidence, again=False)
    rows = x.double()[incidence.endpoints.col.view(-1, 2)].sum(1)
    every = rows.repeat_interleave(incidence.weight, dim=0)
    expected = every.var(0, unbiased=True)
    torch.testing.assert_close(norm.running_var.double(), expected, rtol=3e-5, atol=1e-10)


@pytest.mark.parametrize('stages', [1, 2])
def test_statistics_far_from_zero(stages):
    torch.manual_seed(0)
    edge_index, x = dense_graph(40, 0.5), torch.randn(40, D) + 1000
    layers = Sequential(*(layer for _ in range(stages) for layer in NETWORKS['all']()))
    incidence, exact = TriangleIncidence.build(edge_index, 40), copy.deepcopy(layers).double()
    with kernels.use('torch'):
        out = communicate(layers, x, incidence)
        expected = communicate(exact, x.double(), incidence)
    assert (out - expected).norm() < 1e-3 * expected.norm()
    torch.testing.assert_close(layers[1].running_var.double(), exact[1].running_var, rtol=1e-3,
                               atol=0)  # fmt: skip


def test_lean_network_keeps_no_row_of_an_edge():
    edge_index, x = dense_graph(40, 0.5), torch.randn(40, D, requires_grad=True)
    incidence = TriangleIncidence.build(edge_index, 40)
    kept = []

    def note(tensor):
        kept.append(tensor)
        return tensor

    conv = NCGNNConv(Linear(D, D), Sequential(*NETWORKS['all']()))
    with kernels.use('torch'), torch.autograd.graph.saved_tensors_hooks(note, lambda t: t):
        conv(x, edge_index, incidence)
    assert kept
    rows = [t for t in kept if t.is_floating_point() and t.dim() == 2]
    assert max(t.size(0) for t in rows) == 40 < incidence.num_edges


def test_what_it_is_not_for():
    x, layers = torch.randn(3, D), NETWORKS['all']()
    assert LinearBatchNorm.of(layers, x).length == 3
    assert LinearBatchNorm.of(layers[:2], x).length == 2
    assert LinearBatchNorm.of(layers[:1], x) is None
    assert LinearBatchNorm.of(layers[1:], x) is None
    assert LinearBatchNorm.of(layers, x.bfloat16()) is None
    assert LinearBatchNorm.of(layers, x.double()) is None
    with torch.autocast('cpu', torch.bfloat16):
        assert LinearBatchNorm.of(layers, x) is None
    layers[1].eval()
    assert LinearBatchNorm.of(layers, x) is None
    layers[1].train().register_forward_hook(lambda *_: None)
    assert LinearBatchNorm.of(layers, x) is None
