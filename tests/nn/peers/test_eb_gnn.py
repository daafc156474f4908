import copy

import pytest
import torch
from hypothesis import given, settings
from torch_geometric.data import Batch, Data

from graphgym_nc.nn import SyncBatchNorm
from graphgym_nc.nn.peers import EBGNN
from graphgym_nc.nn.peers._pair_sums import pair_sums
from graphgym_nc.nn.peers.eb_gnn import node_readout, opposite_pairs
from graphgym_nc.transforms import EdgeNeighbourhoods
from tests.reference import dense_graph, graphs, neighbours

D, E, H = 3, 2, 4


def structured(edge_index, num_nodes):
    data = Data(edge_index=edge_index, num_nodes=num_nodes)
    data.x = torch.randn(num_nodes, D, dtype=torch.double)
    data.edge_attr = torch.randn(edge_index.size(1), E, dtype=torch.double)
    return EdgeNeighbourhoods()(data)


def model_of(**kwargs):
    torch.manual_seed(0)
    return EBGNN(D, H, 2, **({'act': 'tanh'} | kwargs)).double()


def run(model, data):
    edges = (data.edge_attr, data.edge_index, data.edge_state) if model.lin_edge else ()
    return model(data.x, data.state_index, data.state_triangle_index, *edges)


def naive_conv(conv, h, adjacent):
    """One sum after the other; BatchNorm over all that it normalises."""
    pairs = [(u, v, w) for u, v in h for w in adjacent[u] & adjacent[v] if u != v]
    mapped = []
    for i, rows in enumerate(
        ([h[s] for s in h], [torch.cat([h[u, w], h[v, w]]) for u, v, w in pairs], [*h.values()])
    ):
        out = conv.lins[i](torch.stack(rows)) if rows else torch.empty(0, H)
        mapped.append(conv.act(conv.norms[i](out) if rows else out))
    first, of_pairs, last = mapped
    first, last = dict(zip(h, first, strict=True)), dict(zip(h, last, strict=True))
    of_pairs = dict(zip(pairs, of_pairs, strict=True))
    return {
        (u, v): sum(first[u, w] for w in adjacent[u])
        + sum(last[v, w] for w in adjacent[v])
        + sum(z for (a, b, _), z in of_pairs.items() if (a, b) == (u, v))
        for u, v in h
    }


def naive(model, data):
    adjacent = neighbours(data.edge_index, data.num_nodes)
    adjacent = [adjacent[v] or {v} for v in range(data.num_nodes)]
    h = {}
    for u in range(data.num_nodes):
        for v in sorted(adjacent[u]):
            h[u, v] = model.lin_source(data.x[u]) + model.lin_target(data.x[v])
            if u == v:
                h[u, v] = h[u, v] + model.isolated[0]
            columns = (data.edge_index.t() == torch.tensor([u, v])).all(dim=1)
            if model.lin_edge is not None and columns.any():
                h[u, v] = h[u, v] + model.lin_edge(data.edge_attr[columns]).mean(dim=0)
    total = torch.stack([*h.values()])
    for conv, norm in zip(model.convs, model.norms, strict=True):
        out = torch.stack([model.act(row) for row in naive_conv(conv, h, adjacent).values()])
        out = norm(out + torch.stack([*h.values()]) if model.residual else out)
        h = dict(zip(h, out, strict=True))
        total = total + out if model.jk == 'sum' else out
    return total


@pytest.mark.parametrize('batch_norm', [True, False])
@pytest.mark.parametrize(
    'kwargs', [{'edge_dim': E, 'jk': 'sum'}, {'residual': False}], ids=['edges', 'plain']
)
@given(graph=graphs(min_nodes=3, max_nodes=8))
@settings(max_examples=25)
def test_equals_naive_reference(batch_norm, kwargs, graph):
    data = structured(*graph)
    model = model_of(batch_norm=batch_norm, **kwargs)
    if batch_norm:
        # Over states that are nearly the same, no two orders of summation agree.
        for norm in model.modules():
            if isinstance(norm, torch.nn.BatchNorm1d):
                norm.eps = 0.1
    reference = copy.deepcopy(model)
    for training in (True, False):
        states = []
        for function, used in ((run, model), (naive, reference)):
            used.train(training)
            out = function(used, data)
            grads = torch.autograd.grad(
                out.sin().sum(), [*used.parameters()], materialize_grads=True, allow_unused=True
            )
            states.append([out, *grads, *used.buffers()])
        torch.testing.assert_close(*states)


def test_by_hand():
    # A triangle 0, 1, 2, whose node 2 has a tail to 3. All maps are linear, with weights that
    # tell who was read: f1 gives 1 per state, f2 100 for the first of a pair and 10^4 for the
    # second, f3 10^6.
    edge_index = torch.tensor([[0, 1, 0, 2, 1, 2, 2, 3], [1, 0, 2, 0, 2, 1, 3, 2]])
    data = structured(edge_index, 5)
    conv = EBGNN(D, 1, 1, act=torch.nn.Identity(), batch_norm=False).double().convs[0]
    for lin, weight in zip(conv.lins, ([[1.0]], [[1e2, 1e4]], [[1e6]]), strict=True):
        lin.weight.data = torch.tensor(weight).double()
        lin.bias.data.zero_()
    ends = data.state_index.t().tolist()
    assert ends == [[0, 1], [0, 2], [1, 0], [1, 2], [2, 0], [2, 1], [2, 3], [3, 2], [4, 4]]
    h = (
        torch.arange(1.0, 10.0).double().view(-1, 1)
    )  # 01: 1, 02: 2, 10: 3, 12: 4, 20: 5, 21: 6, ...
    out = conv(h, data.state_index, opposite_pairs(data.state_triangle_index)).view(-1)
    at = [1 + 2, 3 + 4, 5 + 6 + 7, 8, 9]
    pairs = {(0, 1): (2, 4), (1, 0): (4, 2), (0, 2): (1, 6), (2, 0): (6, 1), (1, 2): (3, 5),
             (2, 1): (5, 3)}  # fmt: skip
    for (u, v), found in zip(ends, out.tolist(), strict=True):
        first, second = pairs.get((u, v), (0, 0))
        assert found == at[u] + 100 * first + 10**4 * second + 10**6 * at[v]


def test_rows_of_pairs_are_not_kept():
    data, model = structured(dense_graph(12, 0.9), 12), model_of()
    sizes = []

    def pack(tensor):
        sizes.append(tensor.size(0) if tensor.dim() == 2 and tensor.is_floating_point() else 0)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        run(model, data)
    assert max(sizes) == data.state_index.size(1) < 6 * data.state_triangle_index.size(1)


@pytest.mark.parametrize('at_once', [1, 7, 1000])
def test_pairs_some_at_a_time(monkeypatch, at_once):
    torch.manual_seed(0)
    monkeypatch.setattr('graphgym_nc.nn.peers._pair_sums._AT_ONCE', at_once)
    pairs, act = torch.randint(9, (3, 40)), torch.nn.PReLU(H).double()
    rows = [(10 + torch.randn(9, H).double()).requires_grad_() for _ in range(2)]
    norms = [torch.nn.BatchNorm1d(H).double() for _ in range(2)]
    z = act(norms[0](rows[0][pairs[0]] + rows[1][pairs[1]]))
    expected = torch.zeros(9, H).double().index_add(0, pairs[2], z)
    outs = expected, pair_sums(*rows, pairs, norms[1], act)
    results = [
        [
            out,
            *norm.buffers(),
            *torch.autograd.grad(out.sin().sum(), [*rows, act.weight, norm.bias]),
        ]
        for out, norm in zip(outs, norms, strict=True)
    ]
    torch.testing.assert_close(*results)


@pytest.mark.parametrize('p', [0.0, 0.7])
def test_normalisation_of_several_processes(p):
    data, model = structured(dense_graph(8, p), 8), model_of()
    expected = run(model, data)
    calls = []
    for conv in SyncBatchNorm.convert(model).convs:
        conv.norms[1].register_forward_hook(lambda m, args, out: calls.append(len(out)))
    torch.testing.assert_close(run(model, data), expected)
    assert calls == [6 * data.state_triangle_index.size(1)] * 2


@given(graphs(min_nodes=2))
@settings(max_examples=30)
def test_permutation_equivariance(graph):
    edge_index, num_nodes = graph
    data = structured(edge_index, num_nodes)
    model = model_of(edge_dim=E).eval()
    perm, order = torch.randperm(num_nodes), torch.randperm(edge_index.size(1))
    changed = Data(edge_index=perm[edge_index][:, order], num_nodes=num_nodes)
    changed.x = torch.empty_like(data.x)
    changed.x[perm] = data.x
    changed.edge_attr = data.edge_attr[order]
    changed = EdgeNeighbourhoods()(changed)
    out = node_readout(run(model, changed), changed.state_index, num_nodes)
    expected = node_readout(run(model, data), data.state_index, num_nodes)
    torch.testing.assert_close(out[perm], expected)


def test_batched_equals_single():
    model = model_of(edge_dim=E).eval()
    data = [structured(dense_graph(n, seed=n), n + 1) for n in (5, 8, 11)]
    single = torch.cat([run(model, graph) for graph in data])
    torch.testing.assert_close(run(model, Batch.from_data_list(data)), single)


def test_readout_adds_up_to_the_sum_of_edges():
    data = structured(dense_graph(6), 8)
    h = torch.randn(data.state_index.size(1), H)
    torch.testing.assert_close(node_readout(h, data.state_index, 8).sum(dim=0), h.sum(dim=0))


@pytest.mark.parametrize('p', [0.0, 0.7])
def test_gradcheck(p):
    data = structured(dense_graph(4, p), 5)
    model = model_of(edge_dim=E, residual=False)

    def function(x, edge_attr):
        data.x, data.edge_attr = x, edge_attr
        return run(model, data)

    inputs = data.x.requires_grad_(), data.edge_attr.requires_grad_()
    assert torch.autograd.gradcheck(function, inputs)


@pytest.mark.parametrize('dtype', [torch.float, torch.bfloat16])
def test_types_and_devices(dtype):
    data = structured(dense_graph(), 10)
    data.x, data.edge_attr = data.x.to(dtype), data.edge_attr.to(dtype)
    model = model_of(edge_dim=E).to(dtype)
    assert run(model, data).dtype == dtype
    out = run(model.to('meta'), data.to('meta'))
    assert out.shape == (data.state_index.size(1), H)
    out.sum().backward()


@pytest.mark.parametrize('act', ['relu', 'prelu'])
def test_autocast(act):
    torch.manual_seed(0)
    data, model = structured(dense_graph(), 9), model_of(act=act).float()
    data.x = data.x.float()
    expected = run(model, data)
    with torch.autocast('cpu', torch.bfloat16):
        out = run(model, data)
    out.float().sum().backward()
    torch.testing.assert_close(out.float(), expected, atol=0.2, rtol=0.1)


def test_dropout_in_training_only():
    data = structured(dense_graph(), 9)
    model = model_of(dropout=0.5)
    assert (run(model, data) == 0).any()
    model.eval()
    assert torch.equal(run(model, data), run(model, data))


def test_repr_and_parameters():
    model = model_of(edge_dim=E)
    assert str(model) == 'EBGNN(3, 4, num_layers=2)'
    assert str(model.convs[0]) == 'EBConv(4, act=Tanh())'
    before = copy.deepcopy(model.state_dict())
    model.reset_parameters()
    for key in ('isolated', 'lin_edge.weight', 'convs.1.lins.1.weight'):
        assert not torch.equal(before[key], model.state_dict()[key])
    with pytest.raises(ValueError, match="'jk' must be 'last' or 'sum'"):
        model_of(jk='max')
    data = structured(dense_graph(), 9)
    with pytest.raises(ValueError, match="'edge_dim' asks for 'edge_attr'"):
        model(data.x, data.state_index, data.state_triangle_index)
