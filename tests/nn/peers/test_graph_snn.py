import copy

import pytest
import torch
from hypothesis import given, settings
from torch.nn import Linear, ReLU, Sequential, Tanh
from torch_geometric.data import Batch, Data

from graphgym_nc.nn.peers import GraphSNNConv, GraphSNNEConv
from graphgym_nc.structures.structural_coefficients import structural_coefficients
from tests.reference import dense_graph, graphs

D = 3


def naive(conv, x, edge_index, weight, edge_attr=None):
    """Node by node."""
    out = []
    for v in range(x.size(0)):
        heard, own = torch.zeros_like(x[v]), 0
        for e, (u, target) in enumerate(edge_index.t().tolist()):
            if target == v:
                row = x[u] if edge_attr is None else (x[u] + conv.lin(edge_attr[e])).relu()
                heard, own = heard + weight[e] * row, own + weight[e]
        out.append(conv.gamma * own * x[v] + heard)
    return conv.nn(torch.stack(out))


def convs(**kwargs):
    torch.manual_seed(0)
    nn = Sequential(Linear(D, 4), Tanh(), Linear(4, 2))
    edge_conv = GraphSNNEConv(copy.deepcopy(nn), edge_dim=2, **kwargs)
    return GraphSNNConv(nn, **kwargs).double(), edge_conv.double()


@given(graph=graphs())
@settings(max_examples=40)
def test_equals_naive_reference(graph):
    edge_index, num_nodes = graph
    weight = structural_coefficients(edge_index, num_nodes)
    x = torch.randn(num_nodes, D, dtype=torch.double, requires_grad=True)
    edge_attr = torch.randn(edge_index.size(1), 2, dtype=torch.double, requires_grad=True)
    for conv, more in zip(convs(gamma=0.3), ([], [edge_attr]), strict=True):
        inputs = [x, *more, *conv.parameters()]
        outs = [
            conv(x, edge_index, weight, *more),
            naive(conv, x, edge_index, weight, *more),
        ]
        grads = [
            torch.autograd.grad(
                out.tanh().sum(), inputs, materialize_grads=True, allow_unused=True
            )
            for out in outs
        ]
        torch.testing.assert_close(*outs)
        torch.testing.assert_close(*grads)


@given(graphs(min_nodes=2))
@settings(max_examples=30)
def test_permutation_equivariance_and_edge_order(graph):
    edge_index, num_nodes = graph
    conv = convs()[1]
    x = torch.randn(num_nodes, D, dtype=torch.double)
    edge_attr = torch.randn(edge_index.size(1), 2, dtype=torch.double)
    perm, order = torch.randperm(num_nodes), torch.randperm(edge_index.size(1))
    permuted = torch.empty_like(x)
    permuted[perm] = x
    changed = perm[edge_index][:, order]
    out = conv(permuted, changed, structural_coefficients(changed, num_nodes), edge_attr[order])
    expected = conv(x, edge_index, structural_coefficients(edge_index, num_nodes), edge_attr)
    torch.testing.assert_close(out[perm], expected)


def test_by_hand():
    # A path 0, 1, 2: both edges of node 1 weigh 1.5, and those of its neighbours 2.
    edge_index = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    weight = structural_coefficients(edge_index, 4)
    x = torch.tensor([[1.0], [10.0], [100.0], [7.0]])
    conv = GraphSNNConv(Sequential(), gamma=0.5)
    assert conv(x, edge_index, weight).tolist() == [
        [0.5 * 2 * 1 + 2 * 10],
        [0.5 * 3 * 10 + 1.5 * 101],
        [0.5 * 2 * 100 + 2 * 10],
        [0.0],
    ]


def test_batched_equals_single():
    conv = convs()[0]
    data_list = [
        Data(x=torch.randn(n, D).double(), edge_index=dense_graph(n, seed=n)) for n in (5, 8, 11)
    ]
    for data in data_list:
        data.edge_coefficient = structural_coefficients(data.edge_index, data.num_nodes)
    batch = Batch.from_data_list(data_list)
    single = [conv(data.x, data.edge_index, data.edge_coefficient) for data in data_list]
    together = conv(batch.x, batch.edge_index, batch.edge_coefficient)
    torch.testing.assert_close(together, torch.cat(single))


def test_gradcheck():
    edge_index = dense_graph(5)
    weight = structural_coefficients(edge_index, 5)
    conv = convs()[0]
    x = torch.randn(5, D, dtype=torch.double, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x, _: conv(x, edge_index, weight), (x, conv.gamma))
    assert torch.autograd.gradgradcheck(lambda x, _: conv(x, edge_index, weight), (x, conv.gamma))


@pytest.mark.parametrize('dtype', [torch.float, torch.bfloat16])
def test_types_and_devices(dtype):
    edge_index = dense_graph()
    weight = structural_coefficients(edge_index, 9)
    for conv, more in zip(convs(), ([], [torch.randn(edge_index.size(1), 2)]), strict=True):
        args = torch.randn(9, D), edge_index, weight, *more
        args = [arg if arg is edge_index else arg.to(dtype) for arg in args]
        assert conv.to(dtype)(*args).dtype == dtype
        out = conv.to('meta')(*(arg.to('meta') for arg in args))
        assert out.shape == (9, 2)
        out.sum().backward()


def test_repr_and_parameters():
    conv = GraphSNNEConv(Sequential(Linear(2, 3), ReLU()), edge_dim=7)
    assert str(conv).startswith('GraphSNNEConv(nn=Sequential')
    before = copy.deepcopy(conv.state_dict())
    assert before['gamma'].tolist() == pytest.approx([0.1])
    conv.gamma.data.fill_(7.0)
    conv.reset_parameters()
    assert conv.gamma.tolist() == pytest.approx([0.1])
    for key in ('nn.0.weight', 'lin.weight'):
        assert not torch.equal(before[key], conv.state_dict()[key])
