import networkx as nx
import torch
from networkx.generators.atlas import graph_atlas_g
from torch_geometric.data import Batch

from graphgym_nc.transforms import RandomWalks
from graphgym_nc.wl import wl_classes
from graphgym_nc.wl.encoder import embedding_classes
from graphgym_nc.wl.graphs import to_data
from graphgym_nc.wl.networks import random_embeddings
from graphgym_nc.wl.peers.sat import SATEncoder

HEXAGON = nx.cycle_graph(6)
TRIANGLES = nx.disjoint_union(nx.complete_graph(3), nx.complete_graph(3))


def parts(name, *graphs):
    return len(set(embedding_classes(random_embeddings(graphs, name)))) == len(graphs)


def test_subtrees_alone_see_what_1_wl_sees():
    graphs = [graph for graph in graph_atlas_g() if 0 < len(graph) < 7]
    ours, theirs = embedding_classes(random_embeddings(graphs, 'sat')), wl_classes(graphs, '1-wl')
    assert len(set(zip(ours, theirs, strict=True))) == len(set(ours)) == len(set(theirs))


def test_subgraphs_need_values_that_differ():
    # Attention among equal values says nothing, whatever queries and keys know.
    assert not parts('sat', HEXAGON, TRIANGLES)
    assert not parts('sat_subgraph', HEXAGON, TRIANGLES)
    tailed = [nx.compose(graph, nx.path_graph([0, 'a', 'b'])) for graph in (HEXAGON, TRIANGLES)]
    assert parts('sat_subgraph', *tailed)


def test_random_walks_see_cycles():
    assert parts('sat_walks', HEXAGON, TRIANGLES)
    assert parts('sat_subgraph_walks', HEXAGON, TRIANGLES)


def test_returns_are_those_of_the_transform():
    batch = Batch.from_data_list([to_data(graph) for graph in (HEXAGON, nx.star_graph(3))])
    encoder = SATEncoder(walk_length=4)
    expected = RandomWalks(4)(batch.clone()).random_walk_pe
    torch.testing.assert_close(encoder._returns(batch, torch.ones(10, 1)), expected)
