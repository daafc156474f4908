import pickle

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from graphgym_nc.nn.peers import PPGN, PPGNBlock
from graphgym_nc.nn.peers._pairs import Pairs
from tests.nn.peers.pairs import (
    assert_batch_equals_single_graphs,
    assert_numbering_does_not_matter,
    naive_input,
    some_graphs,
)
from tests.reference import graphs

KINDS = [('max', 'spread'), ('sum', 'diagonal'), ('node', 'diagonal'), ('max', 'adjacency')]


def make(readout='max', inputs='diagonal', in_channels=3, **options):
    torch.manual_seed(0)
    model = PPGN(in_channels, 4, 2, 2, readout=readout, inputs=inputs, **options).double()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return model


def naive_mlp(mlp, x):
    for lin in mlp[::2]:
        x = (torch.einsum('oc,cij->oij', lin.weight, x) + lin.bias[:, None, None]).relu()
    return x


def naive(model, x, edge_index):
    """PPGN of one graph, with every product of two pairs, and maxima taken one by one."""
    x = naive_input(x, edge_index, model.inputs)
    number, score = x.size(1), 0
    for block, lin in zip(model.blocks, model.lins, strict=True):
        left, right = naive_mlp(block.mlp1, x), naive_mlp(block.mlp2, x)
        product = torch.einsum('cik,ckj->cikj', left, right).sum(dim=2)
        x = torch.einsum('oc,cij->oij', block.lin.weight, torch.cat([x, product]))
        x = x + block.lin.bias[:, None, None]
        if model.readout == 'node':
            score = score + lin(torch.stack([x[:, :, j].sum(dim=1) for j in range(number)]))
            continue
        itself = torch.stack([x[:, i, i] for i in range(number)])
        others = [x[:, i, j] for i in range(number) for j in range(number) if i != j]
        others = torch.stack(others or [torch.zeros(len(x), dtype=x.dtype)])
        if model.readout == 'max':
            pooled = torch.cat([itself.max(dim=0).values, others.max(dim=0).values])
        else:
            pooled = torch.cat([itself.sum(dim=0), others.sum(dim=0)])
        score = score + lin(pooled)[None]
    return score


@pytest.mark.parametrize(('readout', 'inputs'), KINDS)
@settings(max_examples=25)
@given(graph=graphs(max_nodes=6), seed=st.integers(0, 99))
def test_equals_naive_reference(readout, inputs, graph, seed):
    edge_index, number = graph
    model = make(readout, inputs)
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(number, 3, dtype=torch.double, generator=generator, requires_grad=True)
    ours, other = model(x, edge_index), naive(model, x, edge_index)
    torch.testing.assert_close(ours, other, rtol=1e-10, atol=1e-10)
    ours, other = (
        torch.autograd.grad(out.square().sum(), list(model.parameters())) for out in (ours, other)
    )
    for gradient, expected in zip(ours, other, strict=True):
        torch.testing.assert_close(gradient, expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize(('readout', 'inputs'), KINDS)
def test_padding_never_leaks(readout, inputs):
    assert_batch_equals_single_graphs(make(readout, inputs), readout == 'node')


@pytest.mark.parametrize(('readout', 'inputs'), KINDS)
def test_numbering_does_not_matter(readout, inputs):
    assert_numbering_does_not_matter(make(readout, inputs), readout == 'node')


def test_gradcheck():
    model, graph = make('sum', act='tanh'), some_graphs()[3]
    x = graph.x.requires_grad_()
    assert torch.autograd.gradcheck(lambda x: model(x, graph.edge_index), x)


def test_input_of_a_path():
    x, edge_index = torch.tensor([[2.0], [3], [4]]), torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    values, nodes = Pairs.of(x, edge_index)
    half = 0.5**0.5  # degrees 1 and 2
    expected = torch.tensor([[0, half, 0], [half, 0, half], [0, half, 0]])
    torch.testing.assert_close(values[0, 0], expected)
    assert torch.equal(values[0, 1], torch.diag(torch.tensor([2.0, 3, 4])))
    assert nodes is None
    spread = Pairs.of(x, edge_index, inputs='spread').values
    torch.testing.assert_close(spread[0, 1], values.sum(dim=1)[0])


def test_a_block_multiplies_matrices():
    """With weights that let the product of the inputs through, and nothing else."""
    block = PPGNBlock(1, 1, mlp_depth=1)
    block.mlp1[0].weight.data.fill_(1.0)
    block.mlp2[0].weight.data.fill_(1.0)
    block.lin.weight.data.copy_(torch.tensor([[0.0, 1.0]]))
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert torch.equal(block(x[None, None])[0, 0], torch.tensor([[7.0, 10.0], [15.0, 22.0]]))


@pytest.mark.parametrize('readout', ['max', 'sum', 'node'])
def test_device(readout):
    """The padded tensors in, scores out, without a look at any value."""
    model = PPGN(3, 4, 2, 2, readout=readout).to('meta')
    values = torch.empty(2, 4, 5, 5, device='meta', requires_grad=True)
    nodes = torch.empty(2, 5, device='meta', dtype=torch.bool)
    scores = model.score(Pairs(values, nodes))
    scores.sum().backward()
    assert scores.shape == ((2, 5, 2) if readout == 'node' else (2, 2))
    assert values.grad.device.type == 'meta'


@pytest.mark.parametrize('dtype', [torch.bfloat16, torch.float32])
def test_other_precisions(dtype):
    model, graph = make('sum'), some_graphs()[0]
    out = model.to(dtype)(graph.x.to(dtype), graph.edge_index)
    assert out.dtype == dtype
    torch.testing.assert_close(
        out.double(), make('sum')(graph.x, graph.edge_index), rtol=0.1, atol=1
    )


@pytest.mark.parametrize(
    ('channels', 'width', 'classes', 'published'),
    [(3, 82, 2, 103_572), (3, 182, 2, 502_872), (7, 82, 6, 105_552), (7, 182, 6, 507_252)],
)
def test_published_parameters(channels, width, classes, published):
    model = PPGN(channels, width, classes, 3, readout='node')
    assert sum(p.numel() for p in model.parameters()) == published


def test_first_weights_and_copies():
    torch.manual_seed(0)
    model = PPGN(3, 64, 2, 2)
    bound = (6 / (4 + 2 * 64)) ** 0.5  # Xavier's, of a map from both parts at once
    weight = model.blocks[0].lin.weight
    assert 0.95 * bound < weight.abs().max() <= bound
    assert not model.blocks[0].lin.bias.any()
    copy = pickle.loads(pickle.dumps(model))
    graph = some_graphs()[0]
    x = graph.x.float()
    assert torch.equal(copy(x, graph.edge_index), model(x, graph.edge_index))
    model.reset_parameters()
    assert not torch.equal(copy.blocks[0].lin.weight, model.blocks[0].lin.weight)
    assert repr(model) == 'PPGN(2, num_layers=2, readout=max, inputs=diagonal)'


def test_unknown_names():
    with pytest.raises(ValueError, match="'readout' is 'mean', but must be one of max, sum, node"):
        PPGN(3, 4, 2, 2, readout='mean')
    with pytest.raises(ValueError, match="'inputs' is 'x', but must be one of diagonal, spread"):
        PPGN(3, 4, 2, 2, inputs='x')
