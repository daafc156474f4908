import copy

import pytest
import torch
from hypothesis import given, settings
from torch.nn import BatchNorm1d, Identity, Linear, Tanh
from torch_geometric.data import Batch, Data
from torch_geometric.nn import MLP, GINConv, PNAConv, global_add_pool
from torch_geometric.utils import k_hop_subgraph

from graphgym_nc.nn.peers import SAT, SATConv, SubgraphExtractor, SubtreeExtractor
from graphgym_nc.nn.peers.sat import Padding
from tests.reference import dense_graph, graphs

D, K, HEADS, WALK = 8, 2, 2, 3


def gin():
    return GINConv(Linear(D, D), eps=0.3)


def pna():
    return PNAConv(D, D, ['mean', 'sum', 'max'], ['identity'], deg=torch.ones(2))


def subtree(conv=gin, act=Tanh, norm=BatchNorm1d):
    return SubtreeExtractor([conv() for _ in range(K)], D, act, norm)


def subgraph(conv=gin, act=Tanh, norm=BatchNorm1d):
    return SubgraphExtractor([conv() for _ in range(K)], D, act, norm)


def sat(extractor=subtree, num_layers=2, norm=BatchNorm1d, dropout=0.0, **options):
    torch.manual_seed(1)
    convs = [
        SATConv(extractor(norm=norm), D, HEADS, dropout, Tanh, norm) for _ in range(num_layers)
    ]
    head = MLP([D, D, 2], act='tanh', norm=None)
    return SAT(3, convs, head, WALK, **options).double()


def subgraphs(edge_index, num_nodes, hops=K):
    """The subgraph around every node, one by one."""
    rows, roots, edges, first = [], [], [], 0
    for root in range(num_nodes):
        nodes, inside, _, _ = k_hop_subgraph(
            root, hops, edge_index, relabel_nodes=True, num_nodes=num_nodes
        )
        rows.append(nodes)
        roots.append(torch.full_like(nodes, root))
        edges.append(inside + first)
        first += nodes.numel()
    return torch.cat(rows), torch.cat(roots), torch.cat(edges, dim=1)


def inputs(num_nodes, seed=0):
    generator = torch.Generator().manual_seed(seed)
    size = {'generator': generator, 'dtype': torch.double}
    return torch.randn(num_nodes, 3, **size), torch.rand(num_nodes, WALK, **size)


def naive_gin(conv, x, edge_index):
    out = [(1 + conv.eps) * row for row in x]
    for source, target in edge_index.t().tolist():
        out[target] = out[target] + x[source]
    return conv.nn(torch.stack(out))


def naive_extractor(extractor, x, edge_index):
    if isinstance(extractor, SubtreeExtractor):
        states = [x]
        for conv in extractor.convs:
            states.append(naive_gin(conv, states[-1], edge_index).tanh())
        return extractor.lin(extractor.norm(torch.cat(states, dim=-1)))
    rows = []
    for root in range(x.size(0)):
        nodes, inside, _, _ = k_hop_subgraph(
            root, K, edge_index, relabel_nodes=True, num_nodes=x.size(0)
        )
        h = x[nodes]
        for conv in extractor.convs:
            h = naive_gin(conv, h, inside).tanh()
        rows.append(torch.cat([x[root], h.sum(dim=0)]))
    return extractor.lin(extractor.norm(torch.stack(rows)))


def naive_conv(conv, x, graph_of, edge_index, scales):
    """Attention written down for each pair of nodes and each head."""
    s = naive_extractor(conv.extractor, x, edge_index)
    (query, key), value = conv.lin_qk(s).chunk(2, dim=-1), conv.lin_v(x)
    width = D // conv.heads
    rows = []
    for i in range(x.size(0)):
        company = [j for j in range(x.size(0)) if graph_of[j] == graph_of[i]]
        parts = []
        for head in range(conv.heads):
            of_head = slice(head * width, (head + 1) * width)
            weights = [
                ((query[i, of_head] * key[j, of_head]).sum() / width**0.5).exp() for j in company
            ]
            parts.append(
                sum(w * value[j, of_head] for w, j in zip(weights, company, strict=True))
                / sum(weights)
            )
        rows.append(scales[i] * conv.lin_out(torch.cat(parts)))
    x = conv.norm1(x + torch.stack(rows))
    first, last = conv.mlp.lins
    return conv.norm2(x + last(first(x).tanh()))


def naive_sat(model, x, pe, graph_of, edge_index):
    x = model.lin(x) + model.lin_pe(pe)
    degrees = [sum(u == i for u in edge_index[0].tolist()) for i in range(x.size(0))]
    scales = [(1 + d) ** -0.5 if model.degree_scale else 1.0 for d in degrees]
    for conv in model.convs:
        x = naive_conv(conv, x, graph_of, edge_index, scales)
    if model.pool is not None:
        number = max(graph_of) + 1
        x = torch.stack(
            [sum(row for row, g in zip(x, graph_of, strict=True) if g == i) for i in range(number)]
        )
    first, last = model.head.lins
    return last(first(x).tanh())


def structure_of(extractor, edge_index, num_nodes):
    return subgraphs(edge_index, num_nodes) if extractor is subgraph else None


def state(model, out, x):
    weights = torch.linspace(-1, 2, out.numel(), dtype=out.dtype).view_as(out)
    return [out, *torch.autograd.grad((out * weights).sum(), [x, *model.parameters()])]


@pytest.mark.parametrize('extractor', [subtree, subgraph])
@pytest.mark.parametrize('pool', [None, global_add_pool])
@pytest.mark.parametrize('degree_scale', [True, False])
def test_equals_naive_reference(extractor, pool, degree_scale):
    sizes = (5, 1, 7)
    edges = [dense_graph(5), torch.zeros(2, 0, dtype=torch.long), dense_graph(7, 0.4)]
    edge_index = torch.cat([e + i for e, i in zip(edges, (0, 5, 6), strict=True)], dim=1)
    graph_of = [0] * 5 + [1] + [2] * 7
    x, pe = inputs(sum(sizes))
    x.requires_grad_()
    model = sat(extractor, pool=pool, degree_scale=degree_scale)
    reference = copy.deepcopy(model)
    structure = structure_of(extractor, edge_index, sum(sizes))
    for training in (True, True, False):
        model.train(training)
        reference.train(training)
        out = model(x, edge_index, torch.tensor(graph_of), pe, structure)
        expected = naive_sat(reference, x, pe, graph_of, edge_index)
        for a, b in zip(
            [*state(model, out, x), *model.buffers()],
            [*state(reference, expected, x), *reference.buffers()],
            strict=True,
        ):
            torch.testing.assert_close(a, b)


@pytest.mark.parametrize('extractor', [subtree, subgraph])
@settings(max_examples=25)
@given(graphs(max_nodes=8))
def test_equals_naive_reference_on_any_graph(extractor, graph):
    edge_index, num_nodes = graph
    x, pe = inputs(num_nodes)
    x.requires_grad_()
    model = sat(extractor, norm=Identity)
    out = model(x, edge_index, None, pe, structure_of(extractor, edge_index, num_nodes))
    expected = naive_sat(model, x, pe, [0] * num_nodes, edge_index)
    for a, b in zip(state(model, out, x), state(model, expected, x), strict=True):
        torch.testing.assert_close(a, b)


def test_by_hand():
    # One head of one channel, queries and keys all zero: attention is the mean.
    conv = SATConv(SubtreeExtractor([], 1, norm=Identity), 1, heads=1, norm=Identity)
    for parameter in conv.parameters():
        torch.nn.init.zeros_(parameter)
    conv.lin_v.weight.data.fill_(2.0)
    conv.lin_out.weight.data.fill_(10.0)
    x, batch = torch.tensor([[1.0], [3.0], [7.0]]), torch.tensor([0, 0, 1])
    scale = torch.tensor([[0.5], [1.0], [0.1]])
    expected = [[1 + 0.5 * 40], [3 + 40], [7 + 0.1 * 140]]
    assert conv(x, batch, scale=scale).tolist() == expected
    assert conv(x, batch).tolist() == [[41], [43], [147]]


def test_isolated_nodes_keep_their_share_of_attention():
    x, pe = inputs(4)
    edge_index = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])  # node 3 is alone
    scaled, plain = sat(), sat(degree_scale=False)
    seen = {}
    for name, model in (('scaled', scaled), ('plain', plain)):
        conv = model.convs[0]
        forward = conv.forward
        conv.forward = lambda *args, name=name, forward=forward, **kwargs: (
            seen.update({name: kwargs['scale']}) or forward(*args, **kwargs)
        )
        model(x, edge_index, None, pe)
    assert seen['plain'] is None
    assert seen['scaled'].flatten().tolist() == pytest.approx([2**-0.5, 3**-0.5, 2**-0.5, 1])


@pytest.mark.parametrize('extractor', [subtree, subgraph])
def test_batched_equals_single(extractor):
    model = sat(extractor, pool=global_add_pool).eval()
    sizes = (6, 1, 9)
    data = [Data(edge_index=dense_graph(n, 0.5, seed=n), num_nodes=n) for n in sizes]
    for n, graph in zip(sizes, data, strict=True):
        graph.x, graph.pe = inputs(n, seed=n)
    batch = Batch.from_data_list(data)

    def scores(graph, **options):
        structure = structure_of(extractor, graph.edge_index, graph.num_nodes)
        return model(graph.x, graph.edge_index, graph.batch, graph.pe, structure, **options)

    single = torch.cat([scores(Batch.from_data_list([graph])) for graph in data])
    torch.testing.assert_close(scores(batch), single)
    torch.testing.assert_close(scores(batch, batch_size=3, max_num_nodes=12), single)


def test_a_graph_without_nodes_harms_no_other():
    model = sat(pool=global_add_pool)
    x, pe = inputs(5)
    x.requires_grad_()
    out = model(x, dense_graph(5), torch.tensor([0, 0, 2, 2, 2]), pe, batch_size=3)
    for gradient in state(model, out[[0, 2]], x):
        assert gradient.isfinite().all()


@settings(max_examples=25)
@given(graphs(min_nodes=2))
def test_permutation_equivariance(graph):
    edge_index, num_nodes = graph
    model = sat(lambda norm: subtree(pna, norm=norm)).eval()
    x, pe = inputs(num_nodes)
    perm = torch.randperm(num_nodes)
    order = torch.randperm(edge_index.size(1))
    out = model(x, edge_index, None, pe)
    new_x, new_pe = torch.empty_like(x), torch.empty_like(pe)
    new_x[perm], new_pe[perm] = x, pe
    permuted = model(new_x, perm[edge_index][:, order], None, new_pe)
    torch.testing.assert_close(permuted[perm], out)


@pytest.mark.parametrize('extractor', [subtree, subgraph])
def test_gradcheck(extractor):
    model = sat(extractor, num_layers=1, norm=Identity)
    edge_index = dense_graph(4)
    x, pe = (tensor.requires_grad_() for tensor in inputs(4))
    structure = structure_of(extractor, edge_index, 4)
    batch = torch.tensor([0, 0, 0, 1])

    def function(x, pe, *parameters):
        named = dict(zip(dict(model.named_parameters()), parameters, strict=True))
        args = (x, edge_index, batch, pe, structure)
        return torch.func.functional_call(model, named, args)

    assert torch.autograd.gradcheck(function, (x, pe, *model.parameters()), fast_mode=True)


def test_padding():
    batch = torch.tensor([0, 0, 2, 2, 2])
    padding = Padding.of(batch)
    assert padding.place.tolist() == [0, 1, 6, 7, 8]
    assert padding.mask.int().tolist() == [[1, 1, 0], [0, 0, 0], [1, 1, 1]]
    x = torch.arange(1.0, 6)[:, None]
    padded = padding.pad(x)
    assert padded.flatten().tolist() == [1, 2, 0, 0, 0, 0, 3, 4, 5]
    assert torch.equal(padding.unpad(padded), x)


@pytest.mark.parametrize('training', [True, False])
@pytest.mark.parametrize('extractor', [subtree, subgraph])
def test_no_host_synchronisation_on_the_meta_device(extractor, training):
    model = sat(extractor, pool=global_add_pool, dropout=0.2).to('meta').train(training)
    edge_index = dense_graph(9)
    structure = structure_of(extractor, edge_index, 9)
    x, pe = (tensor.to('meta').requires_grad_() for tensor in inputs(9))
    out = model(
        x, edge_index.to('meta'), torch.zeros(9, dtype=torch.long, device='meta'), pe,
        structure and [tensor.to('meta') for tensor in structure], batch_size=2, max_num_nodes=5,
    )  # fmt: skip
    out.sum().backward()
    assert out.shape == (2, 2)
    assert out.device.type == x.grad.device.type == 'meta'


def test_dropout_is_off_in_evaluation():
    model, edge_index = sat(dropout=0.5), dense_graph(9)
    x, pe = inputs(9)
    assert not torch.equal(model(x, edge_index, None, pe), model(x, edge_index, None, pe))
    model.eval()
    out = model(x, edge_index, None, pe)
    assert torch.equal(model(x, edge_index, None, pe), out)
    without = sat(dropout=0.0)
    without.load_state_dict(model.state_dict())
    torch.testing.assert_close(without.eval()(x, edge_index, None, pe), out)


def test_every_dropout_acts():
    # Each of the four: attention weights, their outcome, inside and after the MLP.
    conv = SATConv(subtree(norm=Identity), D, HEADS, 1 - 1e-9, norm=Identity).double()
    x, batch = torch.randn(9, D).double(), torch.zeros(9, dtype=torch.long)
    assert torch.equal(conv(x, batch, dense_graph(9)), x)
    assert conv.mlp.dropout == [1 - 1e-9, 0]


@pytest.mark.parametrize(('dtype', 'tolerance'), [(torch.float32, 1e-5), (torch.bfloat16, 5e-2)])
def test_lower_precision(dtype, tolerance):
    model, edge_index = sat(), dense_graph(20, 0.3)
    x, pe = inputs(20)
    expected = model(x, edge_index, None, pe)
    out = model.to(dtype)(x.to(dtype), edge_index, None, pe.to(dtype))
    assert out.dtype == dtype
    assert (out.double() - expected).norm() < tolerance * expected.norm()
    model = model.float()
    with torch.autocast('cpu', dtype=torch.bfloat16):
        out = model(x.float(), edge_index, None, pe.float())
    assert (out.double() - expected).norm() < 5e-2 * expected.norm()


def test_parameters_repr_and_reset():
    torch.manual_seed(0)
    extractor = SubtreeExtractor([pna() for _ in range(3)], D)
    conv = SATConv(extractor, D, 4)
    pnas = 3 * (7 * D**2 + 3 * D)
    in_extractor = pnas + 2 * 4 * D + 4 * D * D + D
    assert sum(p.numel() for p in extractor.parameters()) == in_extractor
    rest = 3 * D**2 + D**2 + D + 4 * D + 4 * D**2 + 3 * D
    assert sum(p.numel() for p in conv.parameters()) == in_extractor + rest
    assert str(conv).startswith(f'SATConv({D}, heads=4, SubtreeExtractor(')
    model = sat()
    before = copy.deepcopy(model.state_dict())
    model(*inputs(9)[:1], dense_graph(9), None, inputs(9)[1])
    model.reset_parameters()
    for key, value in model.state_dict().items():
        if key.endswith('lin.weight') or key.endswith('lin_qk.weight') or 'nn.weight' in key:
            assert not torch.equal(before[key], value), key
        if 'running' in key:
            assert torch.equal(before[key], value), key


def test_heads_must_divide_the_width():
    with pytest.raises(ValueError, match=r"'channels' \(8\) must be a multiple of 'heads' \(3\)"):
        SATConv(subtree(), D, heads=3)
