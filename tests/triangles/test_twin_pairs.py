import copy
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from torch_geometric.utils import to_undirected

from graphgym_nc import TriangleIncidence, kernels
from graphgym_nc.nn import NCGNNConv, NCGNNEConv
from graphgym_nc.triangles.twin_pairs import TwinPairs
from tests.incidences import dense
from tests.nn.test_nc_conv import paper_mlp, state
from tests.reference import dense_graph, graphs_with_twins, naive_conv


def pairs_of(edge_index, x, how='auto'):
    """With twins made use of, however few."""
    with pytest.MonkeyPatch.context() as patch, kernels.use(how):
        patch.setattr('graphgym_nc.triangles.build.twins_pay', lambda *_: True)
        return TwinPairs.of(TriangleIncidence.build(edge_index, x.size(0)), x)


def cliques(*sizes):
    """Cliques, each of whose first nodes is joined to the next one's."""
    parts, first = [], 0
    for size in sizes:
        parts.append(torch.combinations(torch.arange(first, first + size)).t())
        parts.append(torch.tensor([[first], [first + size]]))
        first += size
    return to_undirected(torch.cat(parts[:-1], dim=1))


@pytest.mark.parametrize('how', ['numba', 'torch'])
@given(graph=graphs_with_twins())
def test_sums_are_those_of_all_edges(how, graph):
    edge_index, num_nodes = graph
    edge_index = to_undirected(edge_index, num_nodes=num_nodes)
    pairs = pairs_of(edge_index, torch.zeros(num_nodes, 1), how)
    incidence = pairs.incidence
    first = incidence.twins.first.col.tolist()
    ends = [
        tuple(sorted((first[u], first[v])))
        for u, v in incidence.endpoints.col.view(-1, 2).tolist()
    ]
    of_pairs = [tuple(sorted(pair)) for pair in pairs.endpoints.col.view(-1, 2).tolist()]
    assert sorted(of_pairs) == sorted(set(ends))
    expand = torch.zeros(len(ends), len(of_pairs), dtype=torch.double)
    for e, pair in enumerate(ends):
        expand[e, of_pairs.index(pair)] = 1
    assert pairs.size.tolist() == expand.sum(dim=0).tolist()
    assert pairs.weight.tolist() == (incidence.weight.double() @ expand).tolist()
    assert (pairs.num_nodes, pairs.num_messages) == (num_nodes, incidence.num_messages)
    sums = pairs.sum_opposite(torch.eye(pairs.num_edges, dtype=torch.double))
    torch.testing.assert_close(sums, incidence.sum_opposite(expand))
    nodes = torch.eye(num_nodes, dtype=torch.double)
    torch.testing.assert_close(pairs.gather_opposite(nodes), sums.t())


@pytest.mark.parametrize('dtype', [torch.double, torch.float32])
def test_two_layers_equal_naive_reference(dtype):
    """Outputs, gradients of all parameters, and running statistics."""
    torch.manual_seed(0)
    edge_index = cliques(5, 4, 6, 2)
    x = torch.randn(3, 4, dtype=torch.double)[torch.bincount(edge_index[0]) % 3]
    convs = torch.nn.ModuleList(NCGNNConv(paper_mlp(), paper_mlp()) for _ in range(2)).double()
    pairs = pairs_of(edge_index, x.to(dtype))
    assert pairs.num_edges < pairs.incidence.num_edges
    others = copy.deepcopy(convs)
    ours, naive = x.to(dtype), x
    incidence = replace(pairs.incidence, pairs=pairs)
    for conv in convs.to(dtype):
        ours = conv(ours, edge_index, incidence)
    for conv in others:
        naive = naive_conv(conv, naive, edge_index)
    tolerance = {'rtol': 2e-3, 'atol': 2e-3} if dtype == torch.float32 else {}
    for a, b in zip(state(convs, x, ours, []), state(others, x, naive, []), strict=True):
        torch.testing.assert_close(a.double(), b.double(), **tolerance)


def test_ends_among_twins_are_the_first_twice():
    pairs = pairs_of(cliques(4), torch.zeros(4, 1))
    assert dense(pairs.endpoints).tolist() == [[2, 0, 0, 0]]
    assert (pairs.size.tolist(), pairs.weight.tolist()) == ([6], [12])
    assert pairs.sum_opposite(torch.ones(1, 1)).flatten().tolist() == [3, 3, 3, 3]


def test_only_of_twins_that_are_alike():
    edge_index = cliques(4, 3)
    x = torch.zeros(7, 1)
    assert pairs_of(edge_index, x) is not None
    assert pairs_of(edge_index, torch.arange(7.0)[:, None]) is None
    one_way = edge_index[:, 1:]
    loop = to_undirected(torch.cat([edge_index, torch.tensor([[1], [1]])], dim=1))
    twice = torch.cat([edge_index[:, :1], edge_index], dim=1)
    for other in (one_way, loop, twice):
        assert pairs_of(other, x) is None


def test_not_where_twins_do_not_pay():
    edge_index = dense_graph(9)
    assert TwinPairs.of(TriangleIncidence.build(edge_index, 9), torch.zeros(9, 1)) is None


def test_edges_with_features_are_not_equal():
    edge_index = cliques(5)
    x, edge_attr = torch.ones(5, 4), torch.randn(20, 4)
    incidence = TriangleIncidence.build(edge_index, 5)
    conv = NCGNNEConv(paper_mlp(), paper_mlp()).eval()
    alike = replace(incidence, pairs=pairs_of(edge_index, x))
    expected = conv(x, edge_index, edge_attr, incidence)
    torch.testing.assert_close(conv(x, edge_index, edge_attr, alike), expected)
