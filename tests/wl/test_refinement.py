import hypothesis.strategies as st
import networkx as nx
import pytest
import torch
from hypothesis import given, settings
from networkx.generators.atlas import graph_atlas_g

from graphgym_nc.wl import color_refinement, colorings, distinguishes
from graphgym_nc.wl.plot import node_colors
from tests.wl.naive import (
    alike_graphs,
    finer,
    naive_edge_colors,
    naive_node_colors,
    networkx_graphs,
    permuted,
    rook,
    same_partition,
    shrikhande,
)


def flat(colors):
    return torch.cat(colors).tolist()


@pytest.mark.parametrize('algorithm', ['1-wl', 'nc-1-wl'])
@given(graphs=st.lists(networkx_graphs(), min_size=1, max_size=3), max_iter=st.integers(0, 3))
@settings(deadline=None)
def test_agrees_with_the_definition(algorithm, graphs, max_iter):
    communicate = algorithm == 'nc-1-wl'
    expected, iterations = naive_node_colors(graphs, communicate)
    assert same_partition(flat(color_refinement(graphs, algorithm)), expected)
    assert sum(1 for _ in colorings(graphs, algorithm)) == iterations + 1

    early, _ = naive_node_colors(graphs, communicate, max_iter)
    assert same_partition(flat(color_refinement(graphs, algorithm, max_iter)), early)


@pytest.mark.parametrize('algorithm', ['1-wl', 'nc-1-wl'])
def test_agrees_with_the_definition_on_the_atlas(algorithm):
    graphs = graph_atlas_g()
    expected, iterations = naive_node_colors(graphs, algorithm == 'nc-1-wl')
    assert same_partition(flat(color_refinement(graphs, algorithm)), expected)
    assert sum(1 for _ in colorings(graphs, algorithm)) == iterations + 1


@given(networkx_graphs(max_nodes=10, labels=False))
@settings(deadline=None)
def test_1_wl_agrees_with_networkx(graph):
    nx.set_node_attributes(graph, 'same', 'label')
    hashes = nx.weisfeiler_lehman_subgraph_hashes(
        graph, node_attr='label', iterations=len(graph), digest_size=32
    )
    (color,) = color_refinement([graph], '1-wl')
    assert same_partition(color.tolist(), [hashes[v][-1] for v in graph])


@pytest.mark.parametrize('algorithm', ['1-wl', 'nc-1-wl', 'eb-1-wl', '3-wl'])
@given(
    graphs=st.lists(networkx_graphs(max_nodes=6), min_size=1, max_size=3), seed=st.integers(0, 99)
)
@settings(deadline=None, max_examples=50)
def test_colors_do_not_depend_on_the_order_of_nodes_and_graphs(algorithm, graphs, seed):
    copies = [permuted(graph, seed) for graph in graphs][::-1]
    colors = color_refinement(graphs, algorithm)
    for color, other in zip(colors, color_refinement(copies, algorithm)[::-1], strict=True):
        assert sorted(color.flatten().tolist()) == sorted(other.flatten().tolist())


def test_theorem_1_on_the_atlas():
    graphs = graph_atlas_g()
    nc_1_wl, one_wl = (flat(color_refinement(graphs, name)) for name in ('nc-1-wl', '1-wl'))
    assert finer(nc_1_wl, one_wl)
    assert not finer(one_wl, nc_1_wl)


@given(alike_graphs())
@settings(deadline=None)
def test_theorem_1_on_random_graphs(graphs):
    assert finer(flat(color_refinement(graphs, 'nc-1-wl')), flat(color_refinement(graphs, '1-wl')))


def test_by_hand():
    # The triangle 1, 2, 3 with a tail 0 at 1 and a tail 4 at 3. All are equal at
    # first, and then differ by degree and triangles: 0 and 4 have (1, 0), 2 has
    # (2, 1), 1 and 3 have (3, 1). By symmetry, this is stable.
    graph = nx.empty_graph(5)
    graph.add_edges_from([(0, 1), (1, 2), (1, 3), (2, 3), (3, 4)])
    first, second = (coloring.colors[0].tolist() for coloring in colorings([graph]))
    assert first == [0, 0, 0, 0, 0]
    assert second == [0, 2, 1, 2, 0]


def test_edge_features_are_seen_on_the_opposite_side_too():
    # Triangles with one double bond: the node opposite of it is another one.
    triangle = nx.cycle_graph(3)
    nx.set_edge_attributes(triangle, {(0, 1): 2, (1, 2): 1, (0, 2): 1}, 'label')
    a, b, c = color_refinement([triangle], 'nc-1-wl', max_iter=1)[0].tolist()
    assert a == b != c


def test_without_triangles_nc_1_wl_is_1_wl():
    graphs = [nx.grid_2d_graph(3, 4), nx.petersen_graph(), nx.path_graph(9)]
    pairs = zip(colorings(graphs, '1-wl'), colorings(graphs, 'nc-1-wl'), strict=True)
    for one, nc in pairs:
        assert [color.tolist() for color in one.colors] == [color.tolist() for color in nc.colors]


@given(graphs=st.lists(networkx_graphs(), min_size=1, max_size=3), max_iter=st.integers(0, 3))
@settings(deadline=None)
def test_edges_agree_with_the_definition(graphs, max_iter):
    early = color_refinement(graphs, 'eb-1-wl', max_iter)
    history = [
        [color for part in coloring.colors for color in part]
        for coloring in colorings(graphs, 'eb-1-wl')
    ]
    assert flat(early) == history[min(max_iter, len(history) - 1)]
    for rounds, colors in enumerate(history):
        assert same_partition(colors, naive_edge_colors(graphs, rounds))
    assert same_partition(history[-1], naive_edge_colors(graphs, len(history) + 2))


def test_edges_agree_with_the_definition_on_the_atlas():
    graphs = graph_atlas_g()
    stable = flat(color_refinement(graphs, 'eb-1-wl'))
    assert same_partition(stable, naive_edge_colors(graphs, 12))


@pytest.mark.parametrize('graphs', [graph_atlas_g(), [shrikhande(), rook()]])
def test_between_nc_1_wl_and_3_wl(graphs):
    nodes, edges = (flat(color_refinement(graphs, name)) for name in ('nc-1-wl', 'eb-1-wl'))
    triples = flat([node_colors(color) for color in color_refinement(graphs, '3-wl')])
    assert finer(triples, edges)
    assert finer(edges, nodes)


def test_strictly_between_nc_1_wl_and_3_wl():
    # Two graphs of BREC.
    pair = ('I?ovThnfw', 'I?ovTjNNw')
    assert not distinguishes(*pair, 'nc-1-wl')
    assert distinguishes(*pair, 'eb-1-wl')
    squares = nx.disjoint_union(nx.cycle_graph(4), nx.cycle_graph(4))
    assert not distinguishes(squares, nx.cycle_graph(8), 'eb-1-wl')
    assert distinguishes(squares, nx.cycle_graph(8), '3-wl')


@given(alike_graphs())
@settings(deadline=None, max_examples=30)
def test_edges_are_finer_than_nodes(graphs):
    nodes, edges = (flat(color_refinement(graphs, name)) for name in ('nc-1-wl', 'eb-1-wl'))
    assert finer(edges, nodes)
