import pickle

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from graphgym_nc.nn.peers import RingGNN, RingGNNConv
from graphgym_nc.nn.peers._pairs import Pairs
from tests.nn.peers.pairs import (
    assert_batch_equals_single_graphs,
    assert_numbering_does_not_matter,
    naive_input,
    some_graphs,
)
from tests.reference import graphs

KINDS = [(False, 'spread'), (True, 'diagonal'), (False, 'adjacency')]


def make(nodes=False, inputs='diagonal', in_channels=3):
    torch.manual_seed(0)
    model = RingGNN(in_channels, 4, 2, 2, for_nodes=nodes, inputs=inputs).double()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return model


def naive_maps(x):
    """All 15 maps of a matrix, entry by entry."""
    n = x.size(0)
    out = [[[x.new_zeros(()) for _ in range(n)] for _ in range(n)] for _ in range(15)]
    row = [sum(x[i, k] for k in range(n)) / n for i in range(n)]
    column = [sum(x[k, i] for k in range(n)) / n for i in range(n)]
    trace = sum(x[k, k] for k in range(n)) / n
    total = sum(x[k, m] for k in range(n) for m in range(n)) / n**2
    for i in range(n):
        for number, value in enumerate([x[i, i], row[i], column[i], trace, total]):
            out[number][i][i] = value
        for j in range(n):
            values = [
                x[i, i], row[i], column[i], x[j, j], row[j], column[j], trace, total, x[i, j],
                x[j, i],
            ]  # fmt: skip
            for number, value in enumerate(values, 5):
                out[number][i][j] = value
    return torch.stack([torch.stack([torch.stack(line) for line in map_]) for map_ in out])


def naive_conv(conv, x):
    maps = torch.stack([naive_maps(channel) for channel in x])  # [channels, 15, n, n]
    l0, l1, l2 = (torch.einsum('mod,dmij->oij', weight, maps) for weight in conv.weight)
    itself = torch.eye(x.size(1), dtype=x.dtype)
    l0 = l0 + conv.diagonal_bias[0][:, None, None] * itself
    l1 = l1 + conv.diagonal_bias[1][:, None, None] * itself
    product = torch.einsum('cik,ckj->cij', l2, l1)
    return conv.k[0] * l0 + conv.k[1] * product + conv.bias[:, None, None]


def naive(model, x, edge_index):
    x = naive_input(x, edge_index, model.inputs)
    outputs = [x]
    for conv in model.convs:
        outputs.append(naive_conv(conv, outputs[-1]).relu())
    outputs = torch.cat(outputs)
    if model.for_nodes:
        pooled = torch.stack([outputs[:, :, j].sum(dim=1) for j in range(x.size(1))])
    else:
        pooled = outputs.sum(dim=(1, 2))[None]
    first, second, last = model.mlp.lins
    return last(second(first(pooled).relu()).relu())


@pytest.mark.parametrize(('nodes', 'inputs'), KINDS)
@settings(max_examples=15)
@given(graph=graphs(max_nodes=5), seed=st.integers(0, 99))
def test_equals_naive_reference(nodes, inputs, graph, seed):
    edge_index, number = graph
    model = make(nodes, inputs)
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(number, 3, dtype=torch.double, generator=generator)
    ours, other = model(x, edge_index), naive(model, x, edge_index)
    torch.testing.assert_close(ours, other, rtol=1e-10, atol=1e-10)
    ours, other = (
        torch.autograd.grad(out.square().sum(), list(model.parameters()), materialize_grads=True)
        for out in (ours, other)
    )
    for gradient, expected in zip(ours, other, strict=True):
        torch.testing.assert_close(gradient, expected, rtol=1e-8, atol=1e-6)


def test_the_maps_are_all_equivariant_maps():
    """They are linearly independent, and there are no others: the space has dimension 15."""
    n = 4
    basis = torch.eye(n * n, dtype=torch.double).view(-1, n, n)
    maps = torch.stack([naive_maps(matrix).flatten(1) for matrix in basis], dim=1).flatten(1)
    assert torch.linalg.matrix_rank(maps) == 15


@pytest.mark.parametrize(('nodes', 'inputs'), KINDS)
def test_padding_never_leaks(nodes, inputs):
    assert_batch_equals_single_graphs(make(nodes, inputs), nodes)


@pytest.mark.parametrize(('nodes', 'inputs'), KINDS)
def test_numbering_does_not_matter(nodes, inputs):
    assert_numbering_does_not_matter(make(nodes, inputs), nodes)


class _Largest(TorchDispatchMode):
    size = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        sizes = [leaf.numel() for leaf in tree_leaves(out) if isinstance(leaf, torch.Tensor)]
        self.size = max([self.size, *sizes])
        return out


def test_no_tensor_is_larger_than_a_matrix_for_each_channel():
    conv, x = RingGNNConv(5, 6), torch.randn(2, 5, 30, 30, requires_grad=True)
    with _Largest() as largest:
        conv(x).sum().backward()
    assert largest.size == 2 * 6 * 30 * 30


def test_gradcheck():
    torch.manual_seed(0)
    conv = RingGNNConv(2, 3).double()
    x = torch.randn(2, 2, 4, 4, dtype=torch.double, requires_grad=True)
    nodes = torch.tensor([[True] * 4, [True] * 3 + [False]])
    x.data[1, :, 3], x.data[1, :, :, 3] = 0, 0
    conv.diagonal_bias.data.normal_()
    assert torch.autograd.gradcheck(lambda *_: conv(x, nodes), (x, *conv.parameters()))


@pytest.mark.parametrize('nodes', [False, True])
def test_device(nodes):
    """The padded tensors in, scores out, without a look at any value."""
    model = RingGNN(3, 4, 2, 2, for_nodes=nodes).to('meta')
    values = torch.empty(2, 4, 5, 5, device='meta', requires_grad=True)
    mask = torch.empty(2, 5, device='meta', dtype=torch.bool)
    scores = model.score(Pairs(values, mask))
    scores.sum().backward()
    assert scores.shape == ((2, 5, 2) if nodes else (2, 2))


@pytest.mark.parametrize(
    ('channels', 'width', 'classes', 'published'),
    [(3, 45, 2, 105_206), (3, 101, 2, 504_766), (7, 43, 6, 104_746), (7, 101, 6, 524_202)],
)
def test_published_parameters(channels, width, classes, published):
    model = RingGNN(channels, width, classes, 2, for_nodes=True)
    assert sum(p.numel() for p in model.parameters()) == published


def test_first_weights_and_copies():
    torch.manual_seed(0)
    model = RingGNN(3, 60, 2, 2, num_nodes=20, readout_channels=[32])
    conv = model.convs[1]
    assert conv.weight.std().item() == pytest.approx((2 / 120) ** 0.5, rel=0.02)
    assert conv.k.tolist() == pytest.approx([1, 0.025])
    assert not conv.diagonal_bias.any()
    assert not conv.bias.any()
    copy, graph = pickle.loads(pickle.dumps(model)), some_graphs()[0]
    x = graph.x.float()
    assert torch.equal(copy(x, graph.edge_index), model(x, graph.edge_index))
    model.reset_parameters()
    assert not torch.equal(copy.convs[0].weight, model.convs[0].weight)
    assert repr(model) == 'RingGNN(2, num_layers=2, graphs, inputs=diagonal)'
    assert repr(conv) == 'RingGNNConv(60, 60)'
