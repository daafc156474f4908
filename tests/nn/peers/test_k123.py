import copy
import pickle

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from torch_geometric.data import Batch, Data
from torch_geometric.nn import GraphConv

from graphgym_nc.nn.peers import K123GNN, TypedGraphConv
from graphgym_nc.structures.sets import AddSets, Sets
from tests.reference import dense_graph, graphs
from tests.structures.test_sets import naive_sets

D = 3


def a_graph(edge_index=None, num_nodes=8):
    edge_index = dense_graph(num_nodes, 0.5) if edge_index is None else edge_index
    return AddSets()(Data(edge_index=edge_index, num_nodes=num_nodes))


def sets_of(data):
    return [Sets.of(data, name) for name in ('pair', 'triple')]


@pytest.mark.parametrize('aggr', ['mean', 'add'])
def test_typed_conv_is_graph_conv_on_one_hot_types(aggr):
    conv = TypedGraphConv(D, 5, 4, aggr).double()
    plain = GraphConv(D + 4, 5, aggr=aggr).double()
    plain.lin_rel.weight.data = torch.cat([conv.lin_rel.weight, conv.type_rel.weight.t()], dim=1)
    plain.lin_root.weight.data = torch.cat([conv.lin_root.weight, conv.type_root.weight.t()], 1)
    plain.lin_rel.bias.data.zero_()
    x = torch.randn(9, D, dtype=torch.double, requires_grad=True)
    kinds, edge_index = torch.arange(9) % 4, dense_graph(9)
    ours = conv(x, kinds, edge_index)
    theirs = plain(torch.cat([x, F.one_hot(kinds, 4)], dim=1), edge_index)
    torch.testing.assert_close(ours, theirs)
    grads = [torch.autograd.grad(out.square().sum(), x)[0] for out in (ours, theirs)]
    torch.testing.assert_close(*grads)
    assert str(conv) == f'TypedGraphConv({D}, 5, 4, aggr={aggr})'
    bound = (D + 4) ** -0.5
    assert all(0.5 * bound < p.abs().max() <= bound for p in conv.parameters())


def mean(rows, like):
    return sum(rows) / len(rows) if rows else torch.zeros_like(like)


def naive_pooled(model, x, edge_index):
    """The network on Python's sets of nodes, each with the mean of its neighbours."""
    act, num_nodes = torch.nn.functional.elu, x.size(0)
    state = dict(enumerate(x))
    for conv in model.convs:
        state = {
            v: act(
                conv.lin_rel(mean([state[s] for s, t in edge_index.t().tolist() if t == v], old))
                + conv.lin_root(old)
            )
            for v, old in state.items()
        }
    pooled = [mean(list(state.values()), None)]
    for size, (first, *others) in ((2, model.pair_convs), (3, model.triple_convs)):
        sets, ways, edges = naive_sets(edge_index, num_nodes, size)
        if not sets:
            pooled.append(torch.zeros(first.out_channels, dtype=x.dtype))
            continue
        kind = {s: torch.tensor(edges[s] - (size - 2) * 2) for s in sets}
        start = {s: mean([state[v] for v in s], None) for s in sets}
        rel = {s: first.lin_rel(start[s]) + first.type_rel(kind[s]) for s in sets}
        root = {s: first.lin_root(start[s]) + first.type_root(kind[s]) for s in sets}
        of_set = {
            s: act(mean([rel[t] for a, t in ways if a == s], root[s]) + root[s]) for s in sets
        }
        for conv in others:
            of_set = {
                s: act(
                    conv.lin_rel(mean([of_set[t] for a, t in ways if a == s], old))
                    + conv.lin_root(old)
                )
                for s, old in of_set.items()
            }
        pooled.append(mean(list(of_set.values()), None))
    return torch.cat(pooled)


@settings(max_examples=25)
@given(graphs(max_nodes=7))
def test_equals_naive_reference(graph):
    edge_index, num_nodes = graph
    torch.manual_seed(0)
    model = K123GNN(D, 4, 2).double()
    x = torch.randn(num_nodes, D, dtype=torch.double, requires_grad=True)
    ours = model.pooled(x, edge_index, sets_of(a_graph(edge_index, num_nodes)))[0]
    theirs = naive_pooled(model, x, edge_index)
    torch.testing.assert_close(ours, theirs)
    grads = [torch.autograd.grad(out.square().sum(), x)[0] for out in (ours, theirs)]
    torch.testing.assert_close(*grads)


def test_gradcheck():
    data, model = a_graph(), K123GNN(D, 4, 2).double().eval()
    x = torch.randn(8, D, dtype=torch.double, requires_grad=True)
    torch.autograd.gradcheck(lambda x: model(x, data.edge_index, sets_of(data)), x)


def test_a_batch_gives_what_its_graphs_give():
    parts = [a_graph(), a_graph(num_nodes=5), a_graph(torch.tensor([[0], [0]]), 1)]
    batch = Batch.from_data_list(parts)
    model = K123GNN(D, 8, 4).double().eval()
    x = torch.randn(batch.num_nodes, D, dtype=torch.double)
    together = model(x, batch.edge_index, sets_of(batch), batch.batch, 3)
    found = model(x, batch.edge_index, sets_of(batch), batch.batch)
    torch.testing.assert_close(found, together)
    for row, of_part, part in zip(together, x.split([8, 5, 1]), parts, strict=True):
        torch.testing.assert_close(model(of_part, part.edge_index, sets_of(part)), row[None])


def test_does_not_depend_on_numbering():
    edge_index, order = dense_graph(8, 0.5), torch.randperm(8)
    model, x = K123GNN(D, 8, 4).double().eval(), torch.randn(8, D, dtype=torch.double)
    first = model(x, edge_index, sets_of(a_graph(edge_index)))
    x = torch.empty_like(x).index_copy_(0, order, x)
    second = model(x, order[edge_index], sets_of(a_graph(order[edge_index])))
    torch.testing.assert_close(first, second)


def test_the_head_is_three_layers_with_dropout_after_the_first():
    data, model = a_graph(), K123GNN(D, 4, 2).double()
    args = torch.randn(8, D, dtype=torch.double), data.edge_index, sets_of(data)
    first, second, last = model.mlp.lins
    hidden = F.elu(first(model.pooled(*args)))
    torch.testing.assert_close(model.eval()(*args), last(F.elu(second(hidden))))
    model.train()
    torch.manual_seed(3)
    out = model(*args)
    torch.manual_seed(3)
    torch.testing.assert_close(out, last(F.elu(second(F.dropout(hidden, 0.5)))))


def test_no_synchronisation():
    data = a_graph().to('meta')
    model = K123GNN(D, 4, 2).to('meta')
    batch = data.edge_index[0].new_zeros(8)
    out = model(torch.empty(8, D, device='meta'), data.edge_index, sets_of(data), batch, 1)
    assert out.is_meta
    out.sum().backward()


@pytest.mark.parametrize('dtype', [torch.float32, torch.bfloat16])
def test_other_dtypes(dtype):
    data = a_graph()
    out = K123GNN(D, 4, 2).to(dtype)(
        torch.randn(8, D, dtype=dtype), data.edge_index, sets_of(data)
    )
    assert out.dtype == dtype


def test_copies_and_parameters():
    model, data = K123GNN(D, 8, 4, num_labels=D).eval(), a_graph()
    args = torch.randn(8, D), data.edge_index, sets_of(data)
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert torch.equal(other(*args), model(*args))
    before = copy.deepcopy(model.state_dict())
    model.reset_parameters()
    assert not any(torch.equal(v, before[k]) for k, v in model.state_dict().items())

    def conv(a, b):
        return 2 * a * b + b

    expected = conv(D, 4) + conv(4, 8) + conv(8, 8)
    for types in (D * (D + 1), 20):  # 2 * 6 pairs, and 2 * 10 triples, of labels
        expected += 2 * (8 + types) * 8 + conv(8, 8)
    expected += 24 * 8 + 8 + 8 * 4 + 4 + 4 * 4 + 4
    assert sum(p.numel() for p in model.parameters()) == expected
