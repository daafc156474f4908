import networkx as nx
import pytest
import torch

from graphgym_nc.wl import distinguishes, wl_classes
from graphgym_nc.wl.encoder import embedding_classes
from graphgym_nc.wl.expressiveness import atlas
from graphgym_nc.wl.networks import random_embeddings
from graphgym_nc.wl.peers.dense import RoundedSine
from tests.wl.naive import permuted

NAMES = ['ppgn', 'ring_gnn']


def rook_and_shrikhande():
    """Two strongly regular graphs with the same parameters."""
    rook = nx.convert_node_labels_to_integers(nx.line_graph(nx.complete_bipartite_graph(4, 4)))
    steps = [(0, 1), (1, 0), (1, 1)]
    shrikhande = nx.Graph(
        ((i, j), ((i + a) % 4, (j + b) % 4)) for i in range(4) for j in range(4) for a, b in steps
    )
    return [rook, nx.convert_node_labels_to_integers(shrikhande)]


def twisted(base):
    """The two graphs of Cai, Fürer and Immerman: equal but for one twisted edge."""
    pair = []
    for twist in (False, True):
        graph = nx.Graph()
        for v in base:
            edges = [frozenset(edge) for edge in base.edges(v)]
            for bits in range(2 ** len(edges)):
                if bits.bit_count() % 2 == 0:
                    inner = (v, bits)
                    for i, edge in enumerate(edges):
                        graph.add_edge(inner, (v, edge, bits >> i & 1))
        for i, (u, v) in enumerate(base.edges):
            for bit in range(2):
                edge = frozenset((u, v))
                graph.add_edge((u, edge, bit), (v, edge, bit ^ (twist and i == 0)))
        pair.append(nx.convert_node_labels_to_integers(graph))
    return pair


@pytest.mark.parametrize('name', NAMES)
def test_all_graphs_of_up_to_seven_nodes_are_told_apart_as_by_3_wl(name):
    graphs = atlas()
    assert embedding_classes(random_embeddings(graphs, name)) == wl_classes(graphs, '3-wl')


@pytest.mark.parametrize('name', NAMES)
@pytest.mark.parametrize('base', [nx.complete_graph(3), nx.complete_graph(4)])
def test_what_takes_many_layers_is_told_apart_as_by_3_wl(name, base):
    pair = twisted(base)
    parted = distinguishes(*pair, '3-wl')
    assert not distinguishes(*pair, '1-wl')
    first, second = random_embeddings(pair, name)
    assert ((first - second).abs().max() > 1e-2) == parted


@pytest.mark.parametrize('name', NAMES)
def test_no_more_than_3_wl(name):
    pair = rook_and_shrikhande()
    assert not nx.is_isomorphic(*pair)
    assert not distinguishes(*pair, '3-wl')
    first, second = random_embeddings(pair, name)
    torch.testing.assert_close(first, second, rtol=0, atol=1e-9)


@pytest.mark.parametrize('name', NAMES)
def test_rounding_errors_do_not_grow(name):
    graph = nx.random_regular_graph(3, 60, seed=0)
    first, second = random_embeddings([graph, permuted(graph, seed=1)], name)
    torch.testing.assert_close(first, second, rtol=0, atol=1e-9)


def test_products_of_rounded_sines_are_exact_in_any_order():
    x = RoundedSine()(torch.randn(200, 2, dtype=torch.double)).prod(dim=1)
    assert x.sum() == x.flip(0).sum() == x[torch.randperm(200)].cumsum(0)[-1]
