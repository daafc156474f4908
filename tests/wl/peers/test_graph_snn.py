import networkx as nx

from graphgym_nc.wl import distinguishes
from graphgym_nc.wl.networks import random_embeddings
from tests.wl.naive import rook, shrikhande


def distance(first, second):
    embeddings = random_embeddings([first, second], 'graph_snn')
    return (embeddings[0] - embeddings[1]).abs().max()


def cone(graph):
    """All nodes of a graph, joined to one more."""
    return nx.full_join(graph, nx.empty_graph(1), rename=('', 'apex '))


def test_of_regular_graphs_it_sees_the_degree_alone():
    pair = nx.circular_ladder_graph(3), nx.complete_bipartite_graph(3, 3)
    assert distinguishes(*pair, 'nc-1-wl')
    assert distance(*pair) < 1e-10
    assert distance(shrikhande(), rook()) < 1e-10


def test_it_sees_cliques_of_four_nodes_that_3_wl_does_not():
    # On the edges of one, common neighbours are adjacent, and of the other they are not.
    pair = cone(shrikhande()), cone(rook())
    assert not distinguishes(*pair, '3-wl')
    assert distance(*pair) > 1e-2


def test_it_parts_what_1_wl_does_not():
    pair = (cone(nx.circular_ladder_graph(3)), cone(nx.complete_bipartite_graph(3, 3)))
    assert not distinguishes(*pair, '1-wl')
    assert distance(*pair) > 1e-2
