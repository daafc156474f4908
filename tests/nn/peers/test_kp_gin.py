import copy
import pickle

import pytest
import torch
from hypothesis import given, settings
from torch.nn import functional as F
from torch_geometric.data import Batch, Data

from graphgym_nc.nn.peers import KPGIN, EdgeTypeGINConv, KPGINConv, KPGINPlusConv
from graphgym_nc.nn.peers._kp_parts import (
    AttentionCombine,
    GeometricCombine,
    HopSum,
    PeripheralEncoder,
)
from graphgym_nc.structures.hops import Hops, KHops
from graphgym_nc.structures.peripheral import Peripheral
from tests.reference import dense_graph, graphs
from tests.structures.naive_hops import hop_neighbours, types_of, walks

WALKS, TYPES = 3, 2
LIMITS = Peripheral(types=2, edges=6, levels=3, pairs=9)


def structure(hops=3, kernel='spd', max_walks=WALKS, closed_walks=True):
    return KHops(hops, kernel, max_walks, TYPES, closed_walks, LIMITS)


def hops_of(graph, hops=3, kernel='spd'):
    edge_index, num_nodes = graph
    kind = edge_index.sum(dim=0) % TYPES
    data = Data(edge_index=edge_index, num_nodes=num_nodes, edge_attr=kind)
    return Hops.of(structure(hops, kernel)(data), structure(hops, kernel))


def naive_sum(module, x, graph, kernel='spd'):
    """All messages, one by one. Hops are the first dimension of :obj:`x`."""
    edge_index, num_nodes = graph
    types = types_of(edge_index, (edge_index.sum(dim=0) % TYPES).tolist())
    rows = []
    for k in range(x.size(0)):
        for v, nodes in enumerate(hop_neighbours(edge_index, num_nodes, k + 1, kernel)):
            row = torch.zeros_like(x[k, v])
            for u, number in nodes.items():
                embedding = (
                    module.edge.weight[types[frozenset((u, v))]]
                    if k == 0
                    else module.walk.weight[min(number, WALKS) - 1]
                )
                row = row + x[k, u] + embedding
            rows.append(row)
    return torch.stack(rows).view_as(x)


def with_closed(module, x, graph):
    """Adds to all hops but the first what tells of walks that lead back."""
    parts = [x[0]]
    for k in range(1, x.size(0)):
        back = walks(*graph, k + 1).diagonal()
        embedding = module.closed(torch.tensor([min(number, WALKS) for number in back]))
        parts.append(x[k] + embedding)
    return torch.stack(parts)


def naive_kp_gin(conv, x, graph, kernel, peripheral):
    width = conv.in_channels // conv.hops
    parts = torch.stack([x[:, k * width : (k + 1) * width] for k in range(conv.hops)])
    parts = with_closed(conv, parts, graph)
    out = (1 + conv.eps) * parts + naive_sum(conv.sum, parts, graph, kernel) + peripheral
    mapped = []
    for k in range(conv.hops):
        row = (out[k] @ conv.weight1[k] + conv.bias1[k]).relu()
        mapped.append((row @ conv.weight2[k] + conv.bias2[k]).relu())
    alpha = torch.sigmoid(conv.combine.alpha)
    score = torch.stack([alpha * (1 - alpha) ** k for k in range(conv.hops)]).exp()
    combined = sum(score[k] / score.sum(dim=0) * mapped[k] for k in range(conv.hops))
    return conv.lin(combined)


def randomised(module):
    """Parameters that begin with zeros would hide where they go."""
    torch.manual_seed(0)
    module = module.double()
    for parameter in module.parameters():
        torch.nn.init.normal_(parameter, std=0.7)
    return module


def gradients(out, inputs):
    weight = torch.linspace(-1, 1, out.numel(), dtype=out.dtype).view_as(out)
    grads = torch.autograd.grad(out, inputs, weight, allow_unused=True)
    return [torch.zeros_like(x) if g is None else g for x, g in zip(inputs, grads, strict=True)]


@pytest.mark.parametrize('kernel', ['spd', 'gd'])
@settings(max_examples=25)
@given(graphs())
def test_kp_gin_against_every_message(kernel, graph):
    num_nodes = graph[1]
    conv = randomised(KPGINConv(6, 9, structure(), eps=0.3))
    with torch.no_grad():
        conv.closed.weight[0] = 0
    x = torch.randn(num_nodes, 6, dtype=torch.double, requires_grad=True)
    told = torch.randn(3, num_nodes, 2, dtype=torch.double)
    out = conv(x, hops_of(graph, kernel=kernel), told)
    expected = naive_kp_gin(conv, x, graph, kernel, told)
    torch.testing.assert_close(out, expected)
    inputs = [x, *conv.parameters()]
    closed = [i for i, p in enumerate(inputs) if p is conv.closed.weight]
    for i, (ours, theirs) in enumerate(
        zip(gradients(out, inputs), gradients(expected, inputs), strict=True)
    ):
        if i not in closed:  # whose first row is no parameter
            torch.testing.assert_close(ours, theirs)


@settings(max_examples=25)
@given(graphs())
def test_kp_gin_plus_against_every_message(graph):
    num_nodes = graph[1]
    hops = hops_of(graph)
    for number in (1, 2, 3):
        conv = randomised(KPGINPlusConv(4, number, structure(), norm=False))
        states = torch.randn(number, num_nodes, 4, dtype=torch.double)
        told = torch.randn(number, num_nodes, 4, dtype=torch.double)
        seen = with_closed(conv, states, graph)
        out = F.gelu(naive_sum(conv.sum, seen, graph)) + told
        expected = conv.nn(out[0] if number == 1 else conv.combine(out))
        torch.testing.assert_close(conv(states, hops, told), expected)


@given(graphs())
def test_gin_with_edge_types_against_every_message(graph):
    conv = randomised(EdgeTypeGINConv(4, structure(), 0.2, norm=False))
    x = torch.randn(graph[1], 4, dtype=torch.double)
    expected = conv.nn(1.2 * x + naive_sum(conv.sum, x[None], graph)[0])
    torch.testing.assert_close(conv(x, hops_of(graph)), expected)


def test_attention():
    combine = randomised(AttentionCombine(2, 3))
    x = torch.randn(3, 5, 2, dtype=torch.double)
    score = torch.stack([combine.lstm(x[:, [i]])[0].sum(dim=-1)[:, 0] for i in range(5)], dim=1)
    weight = score.exp() / score.exp().sum(dim=0)
    torch.testing.assert_close(combine(x), torch.einsum('kn,knd->nd', weight, x))
    assert combine.lstm.hidden_size == 3


def test_geometric_series_by_hand():
    combine = GeometricCombine(1, 2)  # alpha is 1/2: scores are 1/2 and 1/4
    out = combine(torch.tensor([[[1.0]], [[0.0]]]))
    torch.testing.assert_close(out, torch.tensor([[0.5621765]]))


@given(graphs())
def test_peripheral_embeddings(graph):
    hops = hops_of(graph)
    encoder = randomised(PeripheralEncoder(4, structure()))

    def embedded(part, numbers):
        tables = part.table.weight.split(part.sizes)
        vectors = [table[number] for table, number in zip(tables, numbers, strict=True)]
        return part.lin(torch.cat(vectors))

    of_edges, of_levels = encoder.weight.sigmoid()
    for k in range(3):
        for v in range(graph[1]):
            pairs = hops.edges[v, k].tolist()
            expected = of_edges * sum(embedded(encoder.edges, pair) for pair in pairs)
            expected = expected + of_levels * embedded(encoder.levels, hops.levels[v, k].tolist())
            torch.testing.assert_close(encoder(hops)[k, v], expected)


def test_gradients_are_those_of_the_function():
    hops = hops_of((dense_graph(5), 5), 2)
    told = torch.randn(2, 5, 2, dtype=torch.double, requires_grad=True)
    x = torch.randn(5, 4, dtype=torch.double, requires_grad=True)
    for combine in ('geometric', 'attention'):
        conv = randomised(KPGINConv(4, 4, structure(2), combine, act='tanh'))
        assert torch.autograd.gradcheck(lambda x, told, c=conv: c(x, hops, told), (x, told))


def network(variant, **more):
    return KPGIN(5, 6, 4, structure(), variant, **more)


VARIANTS = pytest.mark.parametrize('variant', ['plain', 'plus', 'prime'])


@VARIANTS
@pytest.mark.parametrize('more', [{}, {'jk': 'concat', 'residual': True, 'combine': 'attention'}])
def test_networks_against_their_layers(variant, more):
    model = randomised(network(variant, norm=False, **more))
    graph = dense_graph(8, 0.4), 8
    hops, x = hops_of(graph), torch.randn(8, 5, dtype=torch.double)
    told = model.peripheral(hops)
    assert told.shape == (3, 8, 6 if variant == 'plus' else 2)
    states = [model.lin_in(x)]
    for number, conv in enumerate(model.convs):
        if variant == 'plus':
            seen = min(number + 1, 3)
            latest = torch.stack([states[number - k] for k in range(seen)])
            out = conv(latest, hops, told[:seen])
        elif variant == 'prime' and number > 0:
            assert isinstance(conv, EdgeTypeGINConv)
            out = conv(states[-1], hops)
        else:
            out = conv(states[-1], hops, told)
        states.append(out + states[-1] if more else out)
    read = torch.cat(states, dim=1) if more else states[-1]
    torch.testing.assert_close(model(x, hops), model.lin_out(read).relu())


@VARIANTS
def test_every_parameter_learns(variant):
    model = network(variant, jk='concat')
    model(torch.randn(9, 5), hops_of((dense_graph(9, 0.3), 9))).sum().backward()
    assert all(p.grad is not None for p in model.parameters())


@VARIANTS
def test_numbering_and_company_do_not_matter(variant):
    model = randomised(network(variant)).eval()
    edge_index, num_nodes = dense_graph(9, 0.3), 9
    order = torch.randperm(num_nodes, generator=torch.Generator().manual_seed(0))
    x, again = torch.randn(num_nodes, 5, dtype=torch.double), torch.empty(num_nodes, 5).double()
    again[order] = x
    kind = edge_index.sum(dim=0) % TYPES
    transform = structure()
    both = [
        transform(Data(x=x, edge_index=edge_index, edge_attr=kind)),
        transform(Data(x=again, edge_index=order[edge_index], edge_attr=kind)),
    ]
    alone, other = (model(data.x, Hops.of(data, transform)) for data in both)
    torch.testing.assert_close(other[order], alone)
    batch = Batch.from_data_list(both)
    together = model(batch.x, Hops.of(batch, transform))
    torch.testing.assert_close(together, torch.cat([alone, other]))


@VARIANTS
def test_on_the_meta_device(variant):
    hops = hops_of((dense_graph(9), 9))
    model = network(variant).to('meta')
    parts = [part.to('meta') for part in (hops.rowptr, hops.col)]
    counts = [count.to('meta') for count in hops.counts]
    more = [part.to('meta') for part in (hops.closed, hops.edges, hops.levels)]
    x = torch.randn(9, 5, device='meta', requires_grad=True)
    out = model(x, Hops(*parts, hops.sizes, counts, *more))
    out.sum().backward()
    assert out.shape == (9, 6)


@VARIANTS
def test_dtypes(variant):
    hops, x = hops_of((dense_graph(9), 9)), torch.randn(9, 5)
    model = network(variant).eval()
    expected = model(x, hops)
    for dtype in (torch.float64, torch.bfloat16):
        out = copy.deepcopy(model).to(dtype)(x.to(dtype), hops)
        assert out.dtype == dtype
        tolerance = 1e-4 if dtype == torch.float64 else 0.3
        torch.testing.assert_close(out.float(), expected, atol=tolerance, rtol=tolerance)


@VARIANTS
def test_copies(variant):
    hops, x = hops_of((dense_graph(9), 9)), torch.randn(9, 5)
    model = network(variant).eval()
    again = pickle.loads(pickle.dumps(model))
    assert torch.equal(again(x, hops), model(x, hops))
    for module in again.modules():
        if hasattr(module, 'reset_parameters'):
            torch.manual_seed(1)
            module.reset_parameters()
    assert not torch.equal(again(x, hops), model(x, hops))
    assert variant in str(model)


def test_initial_weights():
    conv = KPGINConv(300, 300, structure())
    assert 0.9 * 6**0.5 / 100 < conv.weight1.abs().max() <= 6**0.5 / 100
    assert 0.9 / 100 < conv.bias2.abs().max() <= 1 / 100
    assert str(conv) == 'KPGINConv(300, 300, hops=3, combine=GeometricCombine)'
    assert str(KPGINPlusConv(4, 2, structure())) == 'KPGINPlusConv(4, hops=2)'
    assert str(EdgeTypeGINConv(4, structure())) == 'EdgeTypeGINConv(4)'


def test_one_hop_needs_no_combination():
    transform = KHops(1)
    conv = KPGINConv(4, 6, transform)
    assert (conv.lin, conv.combine, conv.sum.walk) == (None, None, None)
    hops = Hops.of(transform(Data(edge_index=dense_graph(9), num_nodes=9)), transform)
    assert conv(torch.randn(9, 4), hops).shape == (9, 6)


@pytest.mark.parametrize(
    ('published', 'variant', 'hops', 'layers', 'width'),
    [(499_099, 'plus', 8, 8, 104), (488_649, 'prime', 16, 17, 96)],
)
def test_published_parameters_on_zinc(published, variant, hops, layers, width):
    """The authors' tables have rows that nothing reads: two for each kind of edge and of walk,
    and a whole one for walks that lead back.
    """
    transform = KHops(hops, 'spd', 50, 3, False, Peripheral(3, 50, 6, 50))
    model = KPGIN(21, width, layers, transform, variant, jk='concat')
    unread = 0
    for module in model.modules():
        if isinstance(module, HopSum):
            unread += 2 * module.edge.embedding_dim
            unread += (2 + 50) * module.edge.embedding_dim if module.walk is not None else 0
    unread += 2 * model.peripheral.edges.channels
    ours = sum(p.numel() for p in model.parameters()) - width  # no bias: an embedding
    assert ours + width + 1 + unread == published  # with the last linear map


def test_what_does_not_go_together():
    with pytest.raises(ValueError, match=r'but must be multiples of the number of hops \(3\)'):
        KPGINConv(4, 6, structure())
    with pytest.raises(ValueError, match="'combine' is 'sum', but must be one of geometric,"):
        KPGINConv(6, 6, structure(), 'sum')
    with pytest.raises(ValueError, match="'variant' is 'minus', but must be one of plain,"):
        network('minus')
    with pytest.raises(ValueError, match=r"'num_layers' is 2, but must be at least the number of"):
        KPGIN(5, 6, 2, structure(), 'plus')
    with pytest.raises(ValueError, match='tells nothing of peripheral subgraphs'):
        PeripheralEncoder(6, KHops(2, peripheral=None))
