import itertools

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given

from graphgym_nc import TriangleIncidence, find_triangles, kernels
from graphgym_nc.kernels import graphs as graph_kernel
from graphgym_nc.kernels import listing as kernel
from tests.incidences import assert_same, opposite
from tests.reference import graphs, graphs_with_twins, naive_messages, neighbours


def simple(edge_index, num_nodes, dtype=np.int32):
    edge_id = np.empty(edge_index.size(1), dtype)
    return graph_kernel.simple_edges(edge_index.numpy(), num_nodes, edge_id), edge_id


def brute_force(edge_index, num_nodes):
    """The nodes opposite to every edge."""
    adjacent = neighbours(edge_index, num_nodes)
    edges = sorted((u, v) for u in range(num_nodes) for v in adjacent[u] if u < v)
    return edges, [sorted(adjacent[u] & adjacent[v]) for u, v in edges]


@given(graphs())
def test_simple_edges(graph):
    edge_index, num_nodes = graph
    edges, edge_id = simple(edge_index, num_nodes)
    assert list(zip(*edges.tolist(), strict=True)) == brute_force(edge_index, num_nodes)[0]
    for i, (a, b) in enumerate(edge_index.t().tolist()):
        expected = -1 if a == b else edges.T.tolist().index(sorted([a, b]))
        assert edge_id[i] == expected


@given(graphs())
def test_blocks_are_never_left(graph):
    edges, _ = simple(*graph)
    begin = graph_kernel.blocks(edges, graph[1])
    assert begin[0].tolist() == [0, 0]
    assert begin[-1].tolist() == [graph[1], edges.shape[1]]
    for (first, start), (last, stop) in itertools.pairwise(begin):
        own = edges[:, start:stop]
        assert ((own >= first) & (own < last)).all()


@pytest.mark.parametrize('dtype', [np.int32, np.int64])
@given(graph=graphs())
def test_bitsets_and_forward_lists_agree_with_brute_force(graph, dtype):
    edge_index, num_nodes = graph
    edges, _ = simple(edge_index, num_nodes, dtype)
    expected = brute_force(edge_index, num_nodes)[1]
    counts = [len(nodes) for nodes in expected]

    begin = graph_kernel.blocks(edges, num_nodes)
    by_bits, by_lists = np.zeros((2, edges.shape[1]), dtype)
    kernel.count(edges, begin, by_bits)
    if edges.size > 0:
        kernel._forward(edges, 0, num_nodes, by_lists, np.empty(0, dtype))
    assert by_bits.tolist() == by_lists.tolist() == counts

    rowptr = np.cumsum([0, *counts]).astype(dtype)
    first, second = np.empty((2, sum(counts)), dtype)
    kernel.fill(edges, begin, rowptr, first)
    assert first.tolist() == [v for nodes in expected for v in nodes]
    if sum(counts) > 0:
        kernel._forward(edges, 0, num_nodes, rowptr[:-1].copy(), second)
        parts = np.split(second, rowptr[1:-1])
        assert [sorted(part.tolist()) for part in parts] == expected


def large_graph() -> nx.Graph:
    """One block of sparse nodes, for lists, then a dense one, for bitsets."""
    sparse = nx.watts_strogatz_graph(3000, 6, 0.1, seed=0)
    return nx.disjoint_union(sparse, nx.gnp_random_graph(200, 0.5, seed=1))


def test_both_kinds_of_blocks_in_one_graph():
    graph = large_graph()
    edge_index = torch.tensor(list(graph.edges)).t()
    edges, _ = simple(edge_index, 3200)
    begin = graph_kernel.blocks(edges, 3200)
    sizes = np.diff(begin, axis=0)
    assert [kernel._bits_pay(*size) for size in sizes[sizes[:, 0] > 1]] == [False, True]
    found = find_triangles(edge_index, 3200)
    with kernels.use('torch'):
        assert torch.equal(found, find_triangles(edge_index, 3200))
    per_node = torch.bincount(found.flatten(), minlength=3200).tolist()
    assert per_node == [nx.triangles(graph)[v] for v in range(3200)]


@given(graphs())
def test_incidence_by_kernels_is_that_by_torch(graph):
    found = TriangleIncidence.build(*graph)
    with kernels.use('torch'):
        assert_same(found, TriangleIncidence.build(*graph))


@pytest.mark.parametrize('dtype', [torch.int32, torch.int64])
@given(graph=graphs_with_twins())
def test_sums_over_pairs_of_twins(graph, dtype):
    edge_index, num_nodes = graph
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr('graphgym_nc.triangles.build.twins_pay', lambda *_: True)
        patch.setattr('graphgym_nc.triangles.csr.index_dtype', lambda *_: dtype)
        patch.setattr('graphgym_nc.triangles.build.index_dtype', lambda *_: dtype)
        found = TriangleIncidence.build(edge_index, num_nodes)
        with kernels.use('torch'):
            assert_same(found, TriangleIncidence.build(edge_index, num_nodes))
    assert found.twins.sums.col.dtype == found.opposite.col.dtype == dtype
    assert_lists_messages(found, edge_index, num_nodes)


def assert_lists_messages(incidence, edge_index, num_nodes):
    expected = torch.zeros(num_nodes, incidence.num_edges, dtype=torch.double)
    ends = [tuple(pair) for pair in incidence.endpoints.col.view(-1, 2).tolist()]
    for v, u1, u2 in naive_messages(edge_index, num_nodes):
        expected[v, ends.index((u1, u2))] += 1
    assert torch.equal(opposite(incidence), expected)


def cliques(*sizes: int) -> torch.Tensor:
    """Cliques in a row, each joined to the next by an edge."""
    graph = nx.disjoint_union_all(nx.complete_graph(n) for n in sizes)
    first = np.cumsum([0, *sizes])
    graph.add_edges_from((int(v) - 1, int(v)) for v in first[1:-1])
    return torch.tensor(list(graph.edges)).t()


@pytest.mark.parametrize('how', ['numba', 'torch'])
def test_twins_are_nodes_with_the_same_closed_neighbourhood(how):
    edge_index = cliques(9, 6, 8)
    with kernels.use(how):
        incidence = TriangleIncidence.build(edge_index, 23)
    adjacent = neighbours(edge_index, 23)
    closed = [frozenset(adjacent[v] | {v}) for v in range(23)]
    first = incidence.twins.first.col.tolist()
    assert first == [closed.index(closed[v]) for v in range(23)]
    assert len(set(closed)) < 23
    # Fewer entries than messages, and the same sums.
    terms = incidence.opposite.col.numel() + incidence.twins.sums.col.numel()
    assert terms < incidence.num_messages
    assert_lists_messages(incidence, edge_index, 23)


def test_int64_where_int32_does_not_reach(monkeypatch):
    edge_index = cliques(5, 4)
    small = TriangleIncidence.build(edge_index, 9)
    assert small.opposite.col.dtype == small.endpoints.col.dtype == torch.int32
    monkeypatch.setattr('graphgym_nc.triangles.csr.index_dtype', lambda *_: torch.int64)
    monkeypatch.setattr('graphgym_nc.triangles.build.index_dtype', lambda *_: torch.int64)
    large = TriangleIncidence.build(edge_index, 9)
    assert large.opposite.col.dtype == large.endpoints.col.dtype == torch.int64
    assert_same(large, small)
