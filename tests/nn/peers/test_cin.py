import copy
import pickle

import pytest
import torch
from hypothesis import given, settings
from torch_geometric.data import Batch, Data

from graphgym_nc.nn.peers import CIN, CINConv
from graphgym_nc.structures.cells import AddCells, Cells
from tests.reference import dense_graph, graphs

D = 3


def graph(edge_index, num_nodes, max_ring=5):
    return AddCells(max_ring)(Data(edge_index=edge_index, num_nodes=num_nodes))


def a_graph(seed=0):
    return graph(dense_graph(9, 0.5, seed), 9)


def features(data, seed=0):
    torch.manual_seed(seed)
    sizes = data.num_nodes, data.cell_edge_index.size(1), data.ring_size.numel()
    return [torch.randn(size, D, dtype=torch.double, requires_grad=True) for size in sizes]


def boundary_lists(data):
    """The boundaries of all edges and of all rings, as lists."""
    rings = data.ring_edge.split(data.ring_size.tolist())
    return [data.cell_edge_index.t().tolist(), [ring.tolist() for ring in rings]]


def naive_mlp(mlp, x):
    for lin, norm in zip(mlp.lins, mlp.norms, strict=True):
        x = norm(lin(x)).tanh()
    return x


def naive_conv(conv, xs, boundaries):
    """The operator with every pair of upper-adjacent cells looked at."""
    out = []
    for dim, x in enumerate(xs):
        ups = [(1 + conv.eps[0, dim]) * row for row in x]
        downs = [(1 + conv.eps[1, dim]) * row for row in x]
        for above, boundary in enumerate(boundaries[dim] if dim < 2 else []):
            for cell in boundary:
                for other in set(boundary) - {cell}:
                    message = x[other]
                    if conv.coboundaries:
                        both = torch.cat([x[other], xs[dim + 1][above]])
                        message = conv.messages[dim].lin(both).tanh()
                    ups[cell] = ups[cell] + message
        for cell, boundary in enumerate(boundaries[dim - 1] if dim > 0 else []):
            for face in boundary:
                downs[cell] = downs[cell] + xs[dim - 1][face]
        if not ups:
            out.append(x.new_zeros(0, conv.out_channels))
            continue
        up = naive_mlp(conv.up_nns[dim], torch.stack(ups))
        down = naive_mlp(conv.boundary_nns[dim], torch.stack(downs))
        out.append(naive_mlp(conv.update_nns[dim], torch.cat([up, down], dim=1)))
    return out


def results(conv, xs, out):
    loss = sum((o * torch.linspace(-1, 2, o.numel()).view_as(o)).sum() for o in out)
    inputs = [*xs, *conv.parameters()]
    return [*out, *torch.autograd.grad(loss, inputs, allow_unused=True, materialize_grads=True)]


def assert_equals_naive(data, **options):
    torch.manual_seed(1)
    conv = CINConv(D, 4, eps=0.3, train_eps=True, act='tanh', **options).double()
    xs, cells = features(data), Cells.of(data)
    ours = results(conv, xs, conv(xs, cells.boundaries()))
    theirs = results(conv, xs, naive_conv(conv, xs, boundary_lists(data)))
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize('coboundaries', [True, False])
@settings(max_examples=25)
@given(some=graphs(max_nodes=8))
def test_conv_equals_naive_reference(some, coboundaries):
    assert_equals_naive(graph(*some), coboundaries=coboundaries, norm=None)


@pytest.mark.parametrize('coboundaries', [True, False])
def test_conv_with_batch_norm_equals_naive_reference(coboundaries):
    data = a_graph()
    assert data.ring_size.numel() > 5
    assert_equals_naive(data, coboundaries=coboundaries)


def test_by_hand():
    # A triangle: every edge has its two nodes, and two other edges through the triangle.
    data = graph(torch.tensor([[0, 0, 1], [1, 2, 2]]), 3)
    conv = CINConv(1, 1, coboundaries=False, act=torch.nn.Identity(), norm=None)
    for networks in (conv.up_nns, conv.boundary_nns, conv.update_nns):
        for lin in (lin for network in networks for lin in network.lins):
            lin.weight.data.fill_(1.0)
            lin.bias.data.zero_()
    nodes, edges = torch.tensor([[1.0], [2.0], [4.0]]), torch.tensor([[10.0], [20.0], [40.0]])
    out = conv([nodes, edges, torch.tensor([[100.0]])], Cells.of(data).boundaries())
    assert out[0].view(-1).tolist() == [7 + 1, 7 + 2, 7 + 4]
    assert out[1].view(-1).tolist() == [70 + 10 + 3, 70 + 20 + 5, 70 + 40 + 6]
    assert out[2].view(-1).tolist() == [100 + 100 + 70]


def test_gradcheck():
    data = a_graph()
    conv = CINConv(D, 2, act='tanh').double()
    boundaries = Cells.of(data).boundaries()
    torch.autograd.gradcheck(lambda *xs: tuple(conv(xs, boundaries)), features(data))


def naive_start(model, x, data):
    edges = [[x[v] for v in ends] for ends in boundary_lists(data)[0]]
    rings = []
    for ring in boundary_lists(data)[1]:
        nodes = {v for e in ring for v in data.cell_edge_index[:, e].tolist()}
        rings.append([x[v] for v in nodes])
    start = [torch.stack([sum(rows) for rows in cells]) for cells in (edges, rings)]
    if model.init == 'mean':
        start = [
            s / torch.tensor([[len(rows)] for rows in c])
            for s, c in zip(start, (edges, rings), strict=True)
        ]
    return [x, *start]


@pytest.mark.parametrize('init', ['sum', 'mean'])
@pytest.mark.parametrize('pool', ['add', 'mean', None])
def test_network_is_that_of_its_definition(init, pool):
    data = a_graph()
    model = CIN(D, 4, 2, 5, init=init, pool=pool, act='tanh').double()
    x, boundaries = features(data)[0], boundary_lists(data)
    xs, states = naive_start(model, x, data), [[], [], []]
    for conv in model.convs:
        xs = naive_conv(conv, xs, boundaries)
        for dim, state in enumerate(xs):
            pooled = {'add': state.sum(dim=0), 'mean': state.mean(dim=0), None: state}[pool]
            states[dim].append(pooled)
    of_terms = zip(model.lins, states[: len(model.lins)], strict=True)
    terms = [torch.tanh(lin(torch.cat(s, dim=-1))) for lin, s in of_terms]
    assert len(terms) == (1 if pool is None else 3)
    expected = model.lin(sum(terms))
    out = model(x, Cells.of(data))
    torch.testing.assert_close(out, expected if pool is None else expected[None])


def test_network_does_not_depend_on_numbering():
    edge_index, order = dense_graph(9, 0.5), torch.randperm(9)
    model = CIN(D, 8, 2, 4).double().eval()
    x = torch.randn(9, D, dtype=torch.double)
    renumbered = torch.empty_like(x).index_copy_(0, order, x)
    first = model(x, Cells.of(graph(edge_index, 9)))
    torch.testing.assert_close(first, model(renumbered, Cells.of(graph(order[edge_index], 9))))


def test_a_batch_gives_what_its_graphs_give():
    parts = [
        a_graph(1),
        graph(torch.tensor([[0, 1], [1, 2]]), 4),  # without rings
        graph(torch.zeros(2, 0, dtype=torch.long), 2),  # nor edges
        a_graph(2),
    ]
    batch = Batch.from_data_list(parts)
    model = CIN(D, 8, 2, 4).double().eval()
    x = torch.randn(batch.num_nodes, D, dtype=torch.double)
    together = model(x, Cells.of(batch), batch.batch, len(parts))
    sizes = [part.num_nodes for part in parts]
    for row, of_part, part in zip(together, x.split(sizes), parts, strict=True):
        torch.testing.assert_close(model(of_part, Cells.of(part)), row[None])


@pytest.mark.parametrize('last', [[[0, 1], [1, 2]], [[], []]])
def test_the_number_of_graphs_is_found_if_the_last_have_no_rings(last):
    edges = torch.tensor(last, dtype=torch.long)
    batch = Batch.from_data_list([a_graph(), graph(edges, 3), graph(edges, 3)])
    model, x = CIN(D, 4, 2, 2).eval(), torch.randn(15, D)
    out = model(x, Cells.of(batch), batch.batch)
    torch.testing.assert_close(out, model(x, Cells.of(batch), batch.batch, 3))


@pytest.mark.parametrize('edges', [[[0, 0, 1], [1, 2, 2]], [[0, 1], [1, 2]], [[0], [1]], [[], []]])
def test_training_with_one_cell_of_a_kind_or_none(edges):
    data = graph(torch.tensor(edges, dtype=torch.long), 3)
    model = CIN(D, 4, 2, 2)
    model(torch.randn(3, D), Cells.of(data)).sum().backward()
    assert all(buffer.isfinite().all() for buffer in model.buffers())
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())


def test_dropout_is_before_the_last_layer_in_training_alone():
    data = a_graph()
    model, x = CIN(D, 4, 1, 2, dropout=1 - 1e-9, norm=None), torch.randn(9, D)
    assert torch.equal(model(x, Cells.of(data))[0], model.lin.bias)
    same = copy.deepcopy(model).eval()
    model.dropout = 0.0
    torch.testing.assert_close(same(x, Cells.of(data)), model(x, Cells.of(data)))


def test_edges_start_from_their_features():
    data = a_graph()
    model = CIN(D, 4, 1, 2, edge_dim=2)
    x, attr = torch.randn(9, D), torch.randn(data.cell_edge_index.size(1), 2)
    cells = Cells.of(data)
    start = model._start(x, cells, cells.boundaries(), attr)
    torch.testing.assert_close(start[1], model.edge_lin(attr))
    other = CIN(D, 4, 1, 2)._start(x, cells, cells.boundaries(), None)
    torch.testing.assert_close(start[2], other[2])


def test_without_coboundaries_nodes_know_nothing_of_rings():
    data = a_graph()
    x, fewer = torch.randn(9, D), data.clone()
    fewer.ring_edge, fewer.ring_size = data.ring_edge[:0], data.ring_size[:0]
    for coboundaries in (True, False):
        model = CIN(D, 4, 3, 2, pool=None, coboundaries=coboundaries).eval()
        same = torch.allclose(model(x, Cells.of(data)), model(x, Cells.of(fewer)))
        assert same != coboundaries


def test_no_synchronisation():
    data = a_graph().to('meta')
    model = CIN(D, 4, 2, 2).to('meta')
    out = model(
        torch.empty(9, D, device='meta'), Cells.of(data), data.edge_index[0].new_zeros(9), 1
    )
    assert out.is_meta
    out.sum().backward()


@pytest.mark.parametrize('dtype', [torch.float32, torch.bfloat16])
def test_other_dtypes(dtype):
    model = CIN(D, 4, 2, 2).to(dtype)
    assert model(torch.randn(9, D, dtype=dtype), Cells.of(a_graph())).dtype == dtype


@pytest.mark.parametrize('coboundaries', [True, False])
def test_autocast(coboundaries):
    model, cells = CIN(D, 8, 2, 2, coboundaries=coboundaries).eval(), Cells.of(a_graph())
    x = torch.randn(9, D)
    expected = model(x, cells)
    with torch.autocast('cpu', dtype=torch.bfloat16):
        out = model(x, cells)
    assert (out - expected).norm() < 5e-2 * expected.norm()
    out.sum().backward()
    assert all(p.grad.isfinite().all() for p in model.parameters())


def test_copies_parameters_and_repr():
    model = CIN(D, 4, 2, 5, norm=None).eval()
    x, cells = torch.randn(9, D), Cells.of(a_graph())
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert torch.equal(other(x, cells), model(x, cells))
    assert str(model.convs[0]) == f'CINConv({D}, 4, coboundaries=True)'
    before = copy.deepcopy(model.state_dict())
    model.reset_parameters()
    changed = {k for k, v in model.state_dict().items() if not torch.equal(v, before[k])}
    assert {name for name, _ in model.named_parameters()} == changed

    def conv(a, b):  # three dimensions; messages in two of them
        return 3 * (2 * (a * b + b + b * b + b) + 2 * b * b + b) + 2 * (2 * a * a + a)

    expected = conv(D, 4) + conv(4, 4) + 3 * 8 * 8 + 8 * 5 + 5
    assert sum(p.numel() for p in model.parameters()) == expected
    with pytest.raises(ValueError, match="'init' must be 'sum' or 'mean'"):
        CIN(D, 4, 2, 5, init='max')
