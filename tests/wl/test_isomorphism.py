import networkx as nx
import pytest
import torch
from networkx.generators.atlas import graph_atlas_g
from torch_geometric.data import Data

from graphgym_nc.wl import ALGORITHMS, color_refinement, colorings, distinguishes, wl_classes
from graphgym_nc.wl.graphs import to_data
from graphgym_nc.wl.isomorphism import undistinguished_pairs
from tests.wl.naive import multiset, naive_node_colors, permuted, rook, shrikhande

NEVER = None


def twice(graph):
    return nx.disjoint_union(graph, graph)


def colored(graph, labels):
    nx.set_node_attributes(graph, dict(zip(graph, labels, strict=True)), 'label')
    return graph


PAIRS = {
    # Every node has degree 2; only in the first, its two neighbours are joined.
    'two triangles, a hexagon': (
        (twice(nx.cycle_graph(3)), nx.cycle_graph(6)),
        {'1-wl': NEVER, 'nc-1-wl': 1, 'eb-1-wl': 1, '3-wl': 0},
    ),
    # The same with alternating colours: red has two blue neighbours in both.
    'two coloured triangles, a coloured hexagon': (
        (
            colored(twice(nx.cycle_graph(3)), 'rbbrbb'),
            colored(nx.cycle_graph(6), 'rbbrbb'),
        ),
        {'1-wl': NEVER, 'nc-1-wl': 1, 'eb-1-wl': 1, '3-wl': 0},
    ),
    # Every node has degree 3; a prism has two triangles, K_3,3 none.
    'a prism, K_3,3': (
        (nx.circular_ladder_graph(3), nx.complete_bipartite_graph(3, 3)),
        {'1-wl': NEVER, 'nc-1-wl': 1, 'eb-1-wl': 1, '3-wl': 0},
    ),
    # Every node has degree 3 and is in 3 triangles, or in none.
    'two tetrahedra, a cube': (
        (twice(nx.complete_graph(4)), nx.cubical_graph()),
        {'1-wl': NEVER, 'nc-1-wl': 1, 'eb-1-wl': 1, '3-wl': 0},
    ),
    # No triangles, so that NC-1-WL is 1-WL, and all have degree 2.
    'two squares, an octagon': (
        (twice(nx.cycle_graph(4)), nx.cycle_graph(8)),
        {'1-wl': NEVER, 'nc-1-wl': NEVER, 'eb-1-wl': NEVER, '3-wl': 1},
    ),
    # Two pentagons, or two hexagons, that share an edge or are joined by one:
    # decalin and bicyclopentyl. Again without triangles.
    'decalin, bicyclopentyl': (
        (
            nx.Graph([*nx.cycle_graph(10).edges, (0, 5)]),
            nx.Graph([*twice(nx.cycle_graph(5)).edges, (0, 5)]),
        ),
        {'1-wl': NEVER, 'nc-1-wl': NEVER, 'eb-1-wl': NEVER, '3-wl': 1},
    ),
    # Strongly regular with the same parameters (16, 6, 2, 2): a known limit.
    'Shrikhande, rook': (
        (shrikhande(), rook()),
        {'1-wl': NEVER, 'nc-1-wl': NEVER, 'eb-1-wl': NEVER, '3-wl': NEVER},
    ),
    'different sizes': (
        (nx.empty_graph(2), nx.empty_graph(3)),
        {'1-wl': 0, 'nc-1-wl': 0, 'eb-1-wl': 0, '3-wl': 0},
    ),
    'a path, a star': (
        (nx.path_graph(4), nx.star_graph(3)),
        {'1-wl': 1, 'nc-1-wl': 1, 'eb-1-wl': 1, '3-wl': 0},
    ),
    # EB-1WL would take two nodes for both directions of an edge, if it looked at edges alone.
    'two nodes, an edge': (
        (nx.empty_graph(2), nx.path_graph(2)),
        {'1-wl': 1, 'nc-1-wl': 1, 'eb-1-wl': 1, '3-wl': 0},
    ),
}


@pytest.mark.parametrize('algorithm', ALGORITHMS)
@pytest.mark.parametrize('name', PAIRS)
def test_pairs_worked_out_by_hand(name, algorithm):
    (g, h), expected = PAIRS[name]
    iteration = expected[algorithm]
    parted = iteration is not NEVER
    assert not nx.is_isomorphic(g, h)
    assert distinguishes(g, h, algorithm, return_iteration=True) == (parted, iteration)
    assert distinguishes(g, h, algorithm) is parted
    assert wl_classes([g, h, g], algorithm) == ([0, 1, 0] if parted else [0, 0, 0])


@pytest.mark.parametrize('algorithm', ALGORITHMS)
@pytest.mark.parametrize('name', PAIRS)
def test_isomorphic_graphs_are_never_parted(name, algorithm):
    for graph in PAIRS[name][0]:
        copy = permuted(graph, seed=3)
        assert not distinguishes(graph, copy, algorithm)


@pytest.mark.parametrize('algorithm', ['1-wl', 'nc-1-wl'])
def test_classes_of_the_atlas_agree_with_the_definition(algorithm):
    graphs = graph_atlas_g()
    colors, _ = naive_node_colors(graphs, algorithm == 'nc-1-wl')
    nodes, expected, numbers = iter(colors), [], {}
    for graph in graphs:
        key = multiset([next(nodes) for _ in graph])
        expected.append(numbers.setdefault(key, len(numbers)))
    assert wl_classes(graphs, algorithm) == expected


def test_neighbourhoods_of_equally_many_triangles():
    # The paper's example: v = 0 has four neighbours i, j, p, q and two edges
    # among them, ij and ip, or ij and pq.
    star = [(0, 1), (0, 2), (0, 3), (0, 4)]
    first = colored(nx.Graph([*star, (1, 2), (1, 3)]), 'vijpq')
    second = colored(nx.Graph([*star, (1, 2), (3, 4)]), 'vijpq')
    assert nx.triangles(first, 0) == nx.triangles(second, 0) == 2
    one_wl = color_refinement([first, second], '1-wl', max_iter=1)
    assert one_wl[0][0] == one_wl[1][0]
    nc_1_wl = color_refinement([first, second], 'nc-1-wl', max_iter=1)
    assert nc_1_wl[0][0] != nc_1_wl[1][0]


def test_nc_1_wl_is_more_than_1_wl_with_triangle_counts():
    pair = ('ICXmfbMmW', 'ICZTfR[Mw')
    counted = []
    for line in pair:
        graph = nx.from_graph6_bytes(line.encode())
        counted.append(colored(graph, [nx.triangles(graph, v) for v in graph]))
    assert not distinguishes(*counted, '1-wl')
    assert distinguishes(*pair, 'nc-1-wl')


def test_kinds_of_graphs_can_be_mixed():
    hexagon = nx.cycle_graph(6)
    line = nx.to_graph6_bytes(hexagon, header=False)
    assert wl_classes([hexagon, line, line.decode(), to_data(hexagon)]) == [0, 0, 0, 0]


def test_node_features_are_initial_colors():
    edge_index = torch.tensor([[0, 1], [1, 0]])
    first = Data(x=torch.tensor([[1.0], [2.0]]), edge_index=edge_index)
    second = Data(x=torch.tensor([[2.0], [1.0]]), edge_index=edge_index)
    third = Data(x=torch.tensor([[2.0], [2.0]]), edge_index=edge_index)
    assert not distinguishes(first, second)
    assert distinguishes(first, third, return_iteration=True) == (True, 0)


def test_edge_features_part_graphs():
    bonds = [nx.cycle_graph(4), nx.cycle_graph(4)]
    nx.set_edge_attributes(bonds[0], {(0, 1): 2, (1, 2): 1, (2, 3): 2, (0, 3): 1}, 'label')
    nx.set_edge_attributes(bonds[1], {(0, 1): 2, (1, 2): 2, (2, 3): 1, (0, 3): 1}, 'label')
    assert distinguishes(*bonds, '1-wl', return_iteration=True) == (True, 1)


@pytest.mark.parametrize('algorithm', ALGORITHMS)
def test_max_iter(algorithm):
    path = nx.path_graph(9)
    history = [coloring.colors[0].tolist() for coloring in colorings([path], algorithm)]
    assert len(history) > 1
    for max_iter, colors in enumerate(history):
        assert color_refinement([path], algorithm, max_iter)[0].tolist() == colors
    assert color_refinement([path], algorithm)[0].tolist() == history[-1]


def test_a_long_path_takes_many_iterations():
    (color,) = color_refinement([nx.path_graph(101)])
    assert color.tolist()[:51] == color.tolist()[:49:-1]
    assert len(set(color.tolist())) == 51


def test_of_no_graphs():
    assert color_refinement([]) == []
    assert wl_classes([]) == []
    assert wl_classes(iter([nx.empty_graph(0)])) == [0]


def test_undistinguished_pairs():
    assert undistinguished_pairs([]) == 0
    assert undistinguished_pairs([0, 1, 0, 2, 0, 1]) == 3 + 1


@pytest.mark.parametrize('function', [color_refinement, wl_classes])
def test_unknown_algorithm(function):
    known = "'1-wl', 'nc-1-wl', 'eb-1-wl', '3-wl'"
    with pytest.raises(ValueError, match=rf"unknown algorithm '2-wl' .*{known}"):
        function(['Bw'], '2-wl')


def test_negative_max_iter():
    with pytest.raises(ValueError, match="'max_iter' must not be negative"):
        color_refinement(['Bw'], max_iter=-1)
