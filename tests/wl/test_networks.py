import networkx as nx
import pytest
import torch
from networkx.generators.atlas import graph_atlas_g

from graphgym_nc.wl import wl_classes
from graphgym_nc.wl.networks import NETWORKS, network_name, random_embeddings
from tests.wl.naive import permuted


def test_names():
    assert network_name('nc-gnn-lean') == 'nc_lean'  # of results kept before
    with pytest.raises(ValueError, match=r"unknown network 'gcn' \(allowed are gin, nc,"):
        network_name('gcn')


@pytest.mark.parametrize('name', NETWORKS)
def test_embeddings_do_not_depend_on_numbering_or_company(name):
    graphs = [nx.petersen_graph(), nx.lollipop_graph(4, 3), nx.empty_graph(2), nx.path_graph(1)]
    graphs += [permuted(graph, seed=1) for graph in graphs]
    together = random_embeddings(graphs, name)
    torch.testing.assert_close(together[:4], together[4:], rtol=1e-9, atol=1e-9)
    alone = torch.cat([random_embeddings([graph], name) for graph in graphs])
    torch.testing.assert_close(alone, together, rtol=1e-9, atol=1e-9)


# On subgraphs of one hop, NGNN does not see what is farther away: see wl/peers/test_subgraphs.py.
@pytest.mark.parametrize('name', [name for name in NETWORKS if name != 'nested_gin'])
def test_no_network_falls_behind_1_wl(name):
    graphs = [graph for graph in graph_atlas_g() if 0 < len(graph) < 7]
    classes = torch.tensor(wl_classes(graphs, '1-wl'))
    distance = torch.cdist(*[random_embeddings(graphs, name)] * 2, p=torch.inf)
    assert distance[classes[:, None] != classes].min() > 1e-6


def test_out_channels():
    network = NETWORKS['nc'].build(channels=8, num_layers=2, out_channels=3)
    assert network.lin.out_features == 3
