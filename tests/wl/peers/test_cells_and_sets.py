"""What SIN, CIN and 1-2-3-GNN with random weights part, beside WL algorithms."""

from functools import partial

import networkx as nx
import pytest
import torch
from networkx.generators.atlas import graph_atlas_g

from graphgym_nc.wl import wl_classes
from graphgym_nc.wl.encoder import embedding_classes
from graphgym_nc.wl.networks import NETWORKS, Network, random_embeddings
from graphgym_nc.wl.peers import parts as module
from graphgym_nc.wl.peers.cin import CellEncoder
from graphgym_nc.wl.peers.k123 import SetEncoder
from tests.wl.naive import finer


def circulant(*jumps):
    return nx.circulant_graph(16, jumps)


def some_graphs():
    """Small graphs of the atlas, and many regular graphs of one size, most of which NC-1-WL does
    not part.
    """
    graphs = [graph for graph in graph_atlas_g() if 0 < len(graph) < 7]
    graphs += [nx.random_regular_graph(3, 12, seed=seed) for seed in range(20)]
    graphs += [nx.random_regular_graph(4, 10, seed=seed) for seed in range(20)]
    graphs += [circulant(1, jump) for jump in range(2, 8)]
    return [*graphs, *strongly_regular()]


def strongly_regular():
    """The rook's graph and Shrikhande's, which 3-WL does not part."""
    rook = nx.line_graph(nx.complete_bipartite_graph(4, 4))
    shrikhande = nx.Graph()
    for x in range(4):
        for y in range(4):
            ways = ((0, 1), (1, 0), (1, 1))
            shrikhande.add_edges_from(((x, y), ((x + a) % 4, (y + b) % 4)) for a, b in ways)
    return [nx.convert_node_labels_to_integers(graph) for graph in (rook, shrikhande)]


@pytest.fixture
def classes(monkeypatch):
    def of(build, graphs):
        monkeypatch.setitem(NETWORKS, 'tried', Network('', build))
        return embedding_classes(random_embeddings(graphs, 'tried'))

    return of


def test_sin_and_cin_beside_nc_1_wl(classes):
    graphs = some_graphs()
    nc, sin = wl_classes(graphs, 'nc-1-wl'), classes(partial(CellEncoder, 3), graphs)
    assert len(set(nc)) < len(graphs) - 10
    assert finer(sin, nc)
    cin = classes(partial(CellEncoder, 4), graphs)
    assert finer(cin, sin)
    assert len(set(cin)) > len(set(sin))
    assert finer(classes(partial(CellEncoder, 6), graphs), cin)


def test_without_coboundaries_sin_falls_below_nc_1_wl(classes):
    """Nodes then know nothing of their edges, whose states go up to triangles alone."""
    graphs = ['I}`H`WY@w', 'I}`H`WRBg']
    assert len(set(wl_classes(graphs, 'nc-1-wl'))) == 2
    for coboundaries, number in ((True, 2), (False, 1)):
        build = partial(CellEncoder, 3, coboundaries=coboundaries)
        assert len(set(classes(build, graphs))) == number


def test_cin_parts_what_3_wl_does_not(classes):
    graphs = strongly_regular()
    assert len(set(wl_classes(graphs, '3-wl'))) == 1
    assert len(set(classes(partial(CellEncoder, 3), graphs))) == 1
    assert len(set(classes(partial(CellEncoder, 4), graphs))) == 2


def test_1_2_3_gnn_parts_what_3_wl_does_not(classes):
    """A triple and the neighbours of one of its nodes are four nodes at a time."""
    graphs = strongly_regular()
    assert len(set(classes(SetEncoder, graphs))) == 2


def test_means_do_not_tell_how_many_there_are(classes):
    graphs = [nx.complete_graph(4), nx.complete_graph(5)]
    assert len(set(wl_classes(graphs, '1-wl'))) == 2
    assert len(set(classes(partial(SetEncoder, aggr='mean'), graphs))) == 1
    assert len(set(classes(SetEncoder, graphs))) == 2


@pytest.mark.parametrize('build', [partial(CellEncoder, 4), SetEncoder])
def test_sizes(build):
    network = build(channels=8, num_layers=2, out_channels=3, activation=torch.nn.SiLU)
    assert network.lin.out_features == 3


@pytest.mark.parametrize('build', [partial(CellEncoder, 5), SetEncoder])
def test_in_parts_or_at_once(build, monkeypatch):
    graphs, network = [nx.gnp_random_graph(8, 0.5, seed=seed) for seed in range(6)], 'tried'
    monkeypatch.setitem(NETWORKS, network, Network('', build))
    at_once, sizes = random_embeddings(graphs, network), []
    batched = module.Batch.from_data_list

    def count(part):
        sizes.append(len(part))
        return batched(part)

    monkeypatch.setattr(module.Batch, 'from_data_list', count)
    for limit, most in ((1, 1), (200, 5)):
        sizes.clear()
        monkeypatch.setattr(module, '_AT_ONCE', limit)
        torch.testing.assert_close(random_embeddings(graphs, network), at_once)
        assert 1 <= max(sizes[1:]) <= most
