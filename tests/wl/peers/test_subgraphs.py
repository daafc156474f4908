from functools import partial

import networkx as nx
import pytest
import torch
from networkx.generators.atlas import graph_atlas_g
from torch_geometric.data import Batch

from graphgym_nc.wl import wl_classes
from graphgym_nc.wl.brec import load_brec
from graphgym_nc.wl.encoder import embedding_classes
from graphgym_nc.wl.expressiveness import random_network
from graphgym_nc.wl.graphs import to_data
from graphgym_nc.wl.networks import NETWORKS, Network, random_embeddings
from graphgym_nc.wl.peers.subgraphs import NestedEncoder
from tests.wl.naive import rook, shrikhande

# Pairs that they part, of basic, regular and extension: those that the BREC paper has for NGNN and
# GNN-AK, which is GIN-AK+ with 6 hops. It has none for GIN-AK.
PARTED = {'nested_gin': (59, 48, 59), 'gin_ak': (59, 49, 60), 'gin_ak_plus': (60, 50, 97)}


def number(*classes):
    """How many classes there are if two graphs are in the same only if all of these say so."""
    return len({*zip(*classes, strict=True)})


@pytest.fixture
def far_sighted(monkeypatch):
    """NGNN whose subgraphs are whole graphs."""
    network = Network('', partial(NestedEncoder, hops=7))
    monkeypatch.setitem(NETWORKS, 'nested_gin', network)


@pytest.mark.usefixtures('far_sighted')
@pytest.mark.parametrize('name', PARTED)
def test_power_lies_between_1_wl_and_3_wl(name):
    graphs = [graph for graph in graph_atlas_g() if 0 < len(graph) < 7] + [rook(), shrikhande()]
    found = embedding_classes(random_embeddings(graphs, name))
    below, above = wl_classes(graphs, '1-wl'), wl_classes(graphs, '3-wl')
    assert number(found, below) == number(found) > number(below)
    assert number(found, above) == number(above)
    assert found[-1] == found[-2]


def test_nested_gnn_of_one_hop_falls_behind_1_wl():
    # Paths on 3 and 5 nodes, and twice that on 4: all nodes have the same neighbourhoods.
    graphs = [nx.disjoint_union(nx.path_graph(a), nx.path_graph(b)) for a, b in ((3, 5), (4, 4))]
    assert len(set(wl_classes(graphs, '1-wl'))) == 2
    near, far = random_embeddings(graphs, 'nested_gin')
    torch.testing.assert_close(near, far)


def test_a_batch_keeps_the_subgraphs_of_the_last_network():
    def batch():
        return Batch.from_data_list([to_data(nx.path_graph(6)), to_data(nx.cycle_graph(6))])

    kept = batch()
    for hops in (1, 2, 2):
        network = NestedEncoder(hops=hops)
        torch.testing.assert_close(network(kept), network(batch()))
        found = kept.subgraphs
        network(kept)
        assert kept.subgraphs is found


@pytest.mark.parametrize('name', PARTED)
def test_brec(name, shared_data):
    brec = load_brec(shared_data / 'brec')
    method = random_network(name)
    files = ('basic', 'regular', 'extension')
    assert tuple(sum(method.parted(brec[file])) for file in files) == PARTED[name]
    assert not any(method.parted(brec['str'][:5]))


@pytest.mark.parametrize('name', PARTED)
def test_sizes(name):
    network = NETWORKS[name].build(
        channels=4, num_layers=2, out_channels=3, activation=torch.nn.SiLU
    )
    assert network.lin.out_features == 3
    assert random_embeddings([rook()], name).shape[0] == 1
