import copy
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from torch.nn import BatchNorm1d, Linear, ReLU, Sequential, Tanh

from graphgym_nc import TriangleIncidence, kernels
from graphgym_nc.nn import NCGNNConv, NCGNNEConv
from graphgym_nc.nn._communicate import merge_equal
from graphgym_nc.triangles.merged_edges import MergedEdges
from graphgym_nc.triangles.twin_pairs import TwinPairs
from tests.nn.test_fused import assert_fused_equals_naive
from tests.nn.test_nc_conv import assert_equals_naive, state
from tests.reference import dense_graph, graphs, naive_conv
from tests.triangles.test_twin_pairs import cliques, pairs_of

D = 4

AGGREGATIONS = {
    'add': ('add', False),
    'sqrt': ('sqrt', False),
    'mean': ('mean', False),
    'power': (0.3, False),
    'learned': ('learned', False),
    'add, log': ('add', True),
    'learned, log': ('learned', True),
}

GRAPHS = {
    'few edges on triangles': (dense_graph(12, 0.3), 12),
    'many': (dense_graph(12, 0.8), 12),
    'twins': (cliques(9, 8), 17),
    'no triangle': (torch.tensor([[0, 1, 2, 2], [1, 0, 1, 2]]), 4),
    'no edge': (torch.empty(2, 0, dtype=torch.long), 3),
}


def lean():
    return Sequential(Linear(D, D), BatchNorm1d(D), ReLU())


def layer(name, nn=None, nn_communicate=None, cls=NCGNNConv, **kwargs):
    """A layer whose aggregation has learned something."""
    aggr, log = AGGREGATIONS[name]
    conv = cls(
        nn or Sequential(Linear(D, 5), Tanh()), nn_communicate or lean(),
        communicate_aggr=aggr, communicate_log=log, **kwargs,
    )  # fmt: skip
    for parameter in conv.aggregation.parameters():
        torch.nn.init.uniform_(parameter, 0.1, 1.2)
    return conv


@pytest.mark.parametrize('graph', GRAPHS)
@pytest.mark.parametrize('name', AGGREGATIONS)
def test_equals_naive_reference(name, graph):
    torch.manual_seed(1)
    assert_equals_naive(layer(name), *GRAPHS[graph])
    assert_fused_equals_naive(layer(name), *GRAPHS[graph])


@pytest.mark.parametrize('name', AGGREGATIONS)
def test_edge_conv_equals_naive_reference(name):
    torch.manual_seed(1)
    edge_index, num_nodes = GRAPHS['many']
    assert_equals_naive(layer(name, cls=NCGNNEConv, edge_dim=3), edge_index, num_nodes, edge_dim=3)


@settings(max_examples=40)
@given(graph=graphs(min_nodes=2))
@pytest.mark.parametrize('name', ['sqrt', 'learned, log'])
def test_equals_naive_reference_on_any_graph(name, graph):
    torch.manual_seed(0)
    assert_equals_naive(layer(name), *graph)
    # BatchNorm over a few messages that are nearly equal has no stable gradient in float32.
    assert_fused_equals_naive(layer(name, nn_communicate=Linear(D, D)), *graph)


@pytest.mark.parametrize('name', AGGREGATIONS)
def test_before_a_layer_that_makes_rows_narrower(name):
    torch.manual_seed(1)
    edge_index, num_nodes = GRAPHS['few edges on triangles']
    assert 0 < TriangleIncidence.build(edge_index, num_nodes).num_edges <= num_nodes
    for nn_communicate in (lean(), Tanh()):
        conv = layer(name, Sequential(Linear(D, 2), Tanh()), nn_communicate)
        assert_equals_naive(conv, edge_index, num_nodes)
    conv = layer(name, Sequential(Linear(D, 2), ReLU()))
    assert_fused_equals_naive(conv, edge_index, num_nodes)


@pytest.mark.parametrize('how', ['pairs', 'merged'])
@pytest.mark.parametrize('name', AGGREGATIONS)
def test_edges_that_are_equal(name, how, monkeypatch):
    pytest.importorskip('numba')
    monkeypatch.setattr('graphgym_nc.triangles.merged_edges._MIN_EDGES', 1)
    monkeypatch.setattr('graphgym_nc.triangles.merged_edges._MIN_SAVED', 1)
    torch.manual_seed(1)
    edge_index = cliques(5, 3, 6)
    x = torch.eye(D)[torch.arange(14) % D]
    incidence = TriangleIncidence.build(edge_index, 14)
    if how == 'pairs':
        monkeypatch.setattr('graphgym_nc.triangles.merged_edges._MAX_DIFFERENT', 0)
        pairs = pairs_of(edge_index, torch.zeros(14, D))
        x = torch.randn(14, D)[pairs.incidence.twins.first.col]
        incidence = replace(incidence, pairs=pairs)
    conv = layer(name)
    equal = TwinPairs if how == 'pairs' else MergedEdges
    assert type(merge_equal(conv.nn_communicate, x, incidence)) is equal
    reference = copy.deepcopy(conv).double()
    ours = state(conv, x, conv(x, edge_index, incidence), [])
    theirs = state(reference, x, naive_conv(reference, x.double(), edge_index), [])
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a.double(), b.double(), rtol=2e-3, atol=2e-3)


def test_by_hand():
    # A clique of four, with a node that hangs on it: three messages to each of the four.
    edge_index = torch.cat([torch.combinations(torch.arange(4)).t(), torch.tensor([[0], [4]])], 1)
    out = {}
    for name, (aggr, log) in AGGREGATIONS.items():
        one = Linear(1, 1)
        conv = NCGNNConv(Linear(1, 1), one, communicate_aggr=aggr, communicate_log=log)
        conv.nn = Sequential()
        torch.nn.init.zeros_(one.weight)
        torch.nn.init.ones_(one.bias)
        out[name] = conv(torch.zeros(5, 1), edge_index).flatten()[[0, 4]].tolist()
    assert out['add'] == out['add, log'] == [3, 0]
    assert out['mean'] == [pytest.approx(1), 0]
    assert out['sqrt'] == out['learned'] == [pytest.approx(3**0.5), 0]
    assert out['power'] == [pytest.approx(3**0.7), 0]


def test_starts_at_the_square_root_without_logarithm():
    conv = layer('learned, log', nn=Sequential(Linear(D, D)))
    conv.reset_parameters()
    other = layer('sqrt', nn=Sequential(Linear(D, D)))
    missing = other.load_state_dict(conv.state_dict(), strict=False)
    assert missing.unexpected_keys == ['aggregation.power', 'aggregation.log_weight']
    assert not missing.missing_keys
    edge_index, num_nodes = GRAPHS['many']
    x = torch.randn(num_nodes, D)
    torch.testing.assert_close(conv(x, edge_index), other(x, edge_index))


def test_fixed_powers_have_no_parameters():
    names = [set(layer(name).state_dict()) for name in ('add', 'sqrt', 'mean', 'power')]
    assert all(keys == names[0] for keys in names)
    assert not any('aggregation' in key for key in names[0])


def test_repr():
    assert str(layer('add')).endswith('))')
    assert str(layer('power')).endswith('), communicate_aggr=0.3)')
    assert str(layer('learned, log')).endswith('communicate_aggr=learned, communicate_log=True)')


@pytest.mark.parametrize('aggr', ['max', 'power', 1.5, -0.1, True, float('nan'), None])
def test_unknown_aggregation(aggr):
    message = "'communicate_aggr' is .*, but must be one of add, sqrt, mean, learned, or a number"
    with pytest.raises(ValueError, match=message):
        NCGNNConv(Linear(D, D), Linear(D, D), communicate_aggr=aggr)


@pytest.mark.parametrize('name', ['add', 'learned, log'])
def test_network_of_another_width_is_refused(name):
    conv = layer(name, nn_communicate=Linear(D, 1))
    with pytest.raises(ValueError, match=r"'nn_communicate' must map to .* \(4, got 1\)"):
        conv(torch.randn(12, D), GRAPHS['many'][0])


@pytest.mark.parametrize('name', ['mean', 'learned'])
def test_more_messages_than_half_precision_can_count(name):
    edge_index = dense_graph(400, 1.0)
    conv = layer(name, nn_communicate=Linear(D, D))
    x = torch.ones(400, D)
    whole, half = conv(x, edge_index), conv.half()(x.half(), edge_index)
    assert TriangleIncidence.build(edge_index, 400).messages[0] > 65_504
    torch.testing.assert_close(half.float(), whole, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize('name', AGGREGATIONS)
def test_paths_agree_on_a_gradient_of_a_gradient(name):
    torch.manual_seed(0)
    edge_index, num_nodes = GRAPHS['many']
    conv, x = layer(name), torch.randn(num_nodes, D, requires_grad=True)
    found = []
    for kernel in ('numba', 'torch'):
        with kernels.use(kernel):
            out = conv(x, edge_index).square().sum()
            (grad,) = torch.autograd.grad(out, x, create_graph=True)
            wanted = [x, *conv.parameters()]
            grads = torch.autograd.grad(grad.square().sum(), wanted, materialize_grads=True)
            found.append(torch.cat([tensor.flatten() for tensor in grads]))
    ours, theirs = found
    assert (ours - theirs).norm() < 1e-4 * theirs.norm()
