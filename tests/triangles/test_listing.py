import networkx as nx
import pytest
import torch
from hypothesis import given
from networkx.generators.atlas import graph_atlas_g

import graphgym_nc.triangles.listing
from graphgym_nc import find_triangles
from tests.reference import graphs, naive_triangles


def columns(triangle_index):
    return [tuple(column) for column in triangle_index.t().tolist()]


def test_find_triangles_by_hand():
    # Two triangles on the edge (1, 2), a loop, a duplicate and a pendant node.
    edge_index = torch.tensor([[0, 2, 1, 3, 2, 2, 1, 3], [1, 0, 2, 1, 3, 2, 2, 4]])
    out = find_triangles(edge_index)
    assert out.dtype == torch.long
    assert out.tolist() == [[0, 1], [1, 2], [2, 3]]


def test_find_triangles_on_all_graphs_of_up_to_6_nodes():
    seen = 0
    for graph in graph_atlas_g():
        if graph.number_of_nodes() > 6:
            break
        edge_index = torch.tensor(list(graph.edges), dtype=torch.long).reshape(-1, 2).t()
        expected = naive_triangles(edge_index, graph.number_of_nodes())
        assert columns(find_triangles(edge_index, graph.number_of_nodes())) == expected
        seen += 1
    assert seen == 209


@given(graphs(max_nodes=15))
def test_find_triangles_equals_brute_force(graph):
    edge_index, num_nodes = graph
    assert columns(find_triangles(edge_index, num_nodes)) == naive_triangles(*graph)


def test_find_triangles_in_chunks(monkeypatch):
    graph = nx.powerlaw_cluster_graph(200, 5, 0.5, seed=0)
    edge_index = torch.tensor(list(graph.edges)).t()
    expected = find_triangles(edge_index)
    assert expected.size(1) == sum(nx.triangles(graph).values()) // 3
    for size in (1, 7, 100):
        monkeypatch.setattr(graphgym_nc.triangles.listing, '_MAX_CANDIDATES', size)
        assert torch.equal(find_triangles(edge_index), expected)


def test_find_triangles_with_a_hub_of_high_degree():
    # A wheel: work must follow min(deg u, deg v), not the square of the hub's degree.
    num_rim = 20_000
    rim = torch.arange(1, num_rim + 1)
    edge_index = torch.stack(
        [torch.cat([torch.zeros_like(rim), rim]), torch.cat([rim, rim.roll(1)])]
    )
    assert find_triangles(edge_index).size(1) == num_rim


@pytest.mark.parametrize('num_nodes', [None, 0, 1, 4])
def test_find_triangles_without_edges(num_nodes):
    out = find_triangles(torch.empty(2, 0, dtype=torch.long), num_nodes)
    assert out.shape == (3, 0)
    assert out.dtype == torch.long


def test_find_triangles_takes_int32_and_views():
    edge_index = torch.tensor([[0, 1], [1, 2], [2, 0]], dtype=torch.int32).t()
    assert find_triangles(edge_index).tolist() == [[0], [1], [2]]


@pytest.mark.parametrize(
    ('edge_index', 'num_nodes', 'message'),
    [
        (torch.tensor([[0, -1], [1, 2]]), None, r'negative node index \(-1\)'),
        (torch.tensor([[0, 1], [1, 3]]), 3, 'node index 3, but there are only 3 nodes'),
        (torch.tensor([[0, 1, 2]]), None, r'shape \[2, E\] \(got \[1, 3\]\)'),
        (torch.tensor([0, 1]), None, r'shape \[2, E\]'),
        (torch.tensor([[0.0], [1.0]]), None, 'must hold integers'),
        (torch.empty(2, 0, dtype=torch.long), -1, "'num_nodes' must not be negative"),
    ],
)
def test_find_triangles_of_bad_input(edge_index, num_nodes, message):
    with pytest.raises(ValueError, match=message):
        find_triangles(edge_index, num_nodes)
