import networkx as nx
import pytest
from hypothesis import given, settings

from graphgym_nc.wl import wl_classes
from graphgym_nc.wl.brec import CATEGORIES, load_brec
from graphgym_nc.wl.expressiveness import network_classes
from tests.wl.naive import alike_graphs, networkx_graphs, rook, shrikhande


@pytest.mark.parametrize(
    'graphs',
    [
        [nx.empty_graph(2), nx.path_graph(2), nx.empty_graph(3)],
        [shrikhande(), rook()],
        ['I?ovThnfw', 'I?ovTjNNw'],  # which NC-1-WL does not part
        [nx.disjoint_union(nx.cycle_graph(4), nx.cycle_graph(4)), nx.cycle_graph(8)],
    ],
)
def test_parts_what_eb_1_wl_parts(graphs):
    assert network_classes(graphs, 'eb_gnn') == wl_classes(graphs, 'eb-1-wl')


@given(alike_graphs(), networkx_graphs(labels=False))
@settings(max_examples=15)
def test_parts_what_eb_1_wl_parts_of_any(graphs, graph):
    graphs = [*graphs, graph, nx.complement(graph)]
    assert network_classes(graphs, 'eb_gnn') == wl_classes(graphs, 'eb-1-wl')


@pytest.mark.parametrize('file', ['basic', 'regular', 'extension', 'cfi'])
def test_brec(shared_data, file):
    assert file in [category.file for category in CATEGORIES]
    for pair in load_brec(shared_data / 'brec')[file]:
        assert network_classes([*pair], 'eb_gnn') == wl_classes(pair, 'eb-1-wl')
