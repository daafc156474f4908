import hypothesis.strategies as st
import networkx as nx
import pytest
import torch
from hypothesis import given, settings
from networkx.generators.atlas import graph_atlas_g

from graphgym_nc.wl import color_refinement, colorings, k_wl, wl_classes
from graphgym_nc.wl.plot import node_colors
from tests.wl.naive import (
    alike_graphs,
    finer,
    multiset,
    naive_triple_colors,
    networkx_graphs,
    same_partition,
)


def flat(colors):
    return torch.cat([color.flatten() for color in colors]).tolist()


@given(st.lists(networkx_graphs(max_nodes=5), min_size=1, max_size=3), st.integers(0, 2))
@settings(deadline=None, max_examples=60)
def test_agrees_with_the_definition(graphs, max_iter):
    colors = color_refinement(graphs, '3-wl')
    assert [color.shape for color in colors] == [(len(g),) * 3 for g in graphs]
    expected, iterations = naive_triple_colors(graphs)
    assert same_partition(flat(colors), expected)
    assert sum(1 for _ in colorings(graphs, '3-wl')) == iterations + 1

    early, _ = naive_triple_colors(graphs, max_iter=max_iter)
    assert same_partition(flat(color_refinement(graphs, '3-wl', max_iter)), early)


@given(alike_graphs(max_nodes=7))
@settings(deadline=None, max_examples=20)
def test_verdicts_do_not_depend_on_whether_equal_nodes_are_marked(graphs):
    colors, _ = naive_triple_colors(graphs, equality=False)
    cut = len(graphs[0]) ** 3
    parted = multiset(colors[:cut]) != multiset(colors[cut:])
    first, second = wl_classes(graphs, '3-wl')
    assert parted == (first != second)


def test_parts_all_graphs_of_up_to_seven_nodes():
    # The atlas holds each of them once: 3-WL misses none, and invents none.
    classes = wl_classes(graph_atlas_g(), '3-wl')
    assert len(set(classes)) == len(classes) == 1253


def test_theorem_2_on_the_atlas():
    graphs = graph_atlas_g()
    three = torch.cat([node_colors(color) for color in color_refinement(graphs, '3-wl')])
    nc_1_wl = torch.cat(color_refinement(graphs, 'nc-1-wl'))
    assert finer(three.tolist(), nc_1_wl.tolist())
    assert not finer(nc_1_wl.tolist(), three.tolist())


@given(alike_graphs())
@settings(deadline=None)
def test_theorem_2_on_random_graphs(graphs):
    three = torch.cat([node_colors(color) for color in color_refinement(graphs, '3-wl')])
    assert finer(three.tolist(), torch.cat(color_refinement(graphs, 'nc-1-wl')).tolist())


def test_colors_of_graphs_of_different_size_differ():
    first, second = color_refinement([nx.complete_graph(3), nx.complete_graph(4)], '3-wl')
    assert not set(first.flatten().tolist()) & set(second.flatten().tolist())


def test_of_no_graph_and_of_the_empty_graph():
    assert color_refinement([], '3-wl') == []
    assert wl_classes([nx.empty_graph(0), nx.empty_graph(1), nx.empty_graph(0)], '3-wl') == [
        0,
        1,
        0,
    ]


def test_too_large_graphs_say_how_much_memory_they_need():
    assert k_wl.triples_memory(1000) == 128 * 10**9
    with pytest.raises(MemoryError, match=r'a graph of 1000 nodes would take about 119\.2 GiB'):
        wl_classes([nx.path_graph(3), nx.path_graph(1000)], '3-wl')


def test_too_many_graphs_say_so(monkeypatch):
    monkeypatch.setattr(k_wl, 'MAX_BYTES', 3 * k_wl.triples_memory(4))
    wl_classes([nx.path_graph(4)] * 3, '3-wl')
    with pytest.raises(MemoryError, match=r'4 graphs together .* compare fewer at once'):
        wl_classes([nx.path_graph(4)] * 4, '3-wl')
