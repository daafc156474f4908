import networkx as nx
import pytest
import torch
from torch_geometric.data import Batch

from graphgym_nc.wl import wl_classes
from graphgym_nc.wl.brec_training import Protocol
from graphgym_nc.wl.encoder import embedding_classes
from graphgym_nc.wl.expressiveness import atlas
from graphgym_nc.wl.graphs import to_data
from graphgym_nc.wl.networks import NETWORKS
from graphgym_nc.wl.peers.kp_gin import KPGINEncoder


def classes(graphs, **options):
    torch.manual_seed(0)
    network = KPGINEncoder(**options).double()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.normal_(std=1.5 * parameter.size(-1) ** -0.5 if parameter.dim() > 1 else 1)
        return embedding_classes(network(Batch.from_data_list([to_data(g) for g in graphs])))


def strongly_regular():
    """The two graphs of 16 nodes and degree 6 that 3-WL cannot part: Rook's and Shrikhande's."""
    nodes = [(i, j) for i in range(4) for j in range(4)]
    rook, shrikhande = nx.Graph(), nx.Graph()
    for a in nodes:
        for b in nodes:
            difference = ((a[0] - b[0]) % 4, (a[1] - b[1]) % 4)
            if a != b and 0 in difference:
                rook.add_edge(a, b)
            if difference in {(0, 1), (0, 3), (1, 0), (3, 0), (1, 1), (3, 3)}:
                shrikhande.add_edge(a, b)
    return [rook, shrikhande]


def test_peripheral_subgraphs_part_what_3_wl_does_not():
    """The bound by 3-WL is one of K-hop message passing, without peripheral subgraphs."""
    graphs = strongly_regular()
    assert len(set(wl_classes(graphs, '3-wl'))) == 1
    assert len(set(classes(graphs, hops=4, peripheral=False))) == 1
    assert len(set(classes(graphs, hops=4))) == 2


@pytest.mark.parametrize('peripheral', [False, True])
def test_hops_part_what_1_wl_does_not(peripheral):
    graphs = [nx.cycle_graph(6), nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))]
    assert len(set(wl_classes(graphs, '1-wl'))) == 1
    assert len(set(classes(graphs, hops=2, peripheral=peripheral))) == 2


def test_hops_alone_lie_between_1_wl_and_3_wl():
    graphs = [graph for graph in atlas() if len(graph) < 7]
    ours = classes(graphs, hops=8, peripheral=False)
    one, three = (wl_classes(graphs, name) for name in ('1-wl', '3-wl'))
    assert len({*zip(ours, one, strict=True)}) == len({*ours})  # no coarser than 1-WL
    assert len({*zip(ours, three, strict=True)}) == len({*three})  # no finer than 3-WL


def test_settings_of_brec():
    protocol = Protocol.of('kp_gin')
    assert (protocol.channels, protocol.num_layers, protocol.lr) == (32, 8, 1e-4)
    network = NETWORKS['kp_gin'].build(out_channels=16)
    assert (network.hops.hops, network.lin.out_features) == (8, 16)
    assert 'levels=4, pairs=1000' in repr(network.hops)


def test_neighbours_stay_with_a_batch():
    batch = Batch.from_data_list([to_data(nx.path_graph(3))])
    first = KPGINEncoder()(batch)
    assert 'hop8_index' in batch
    assert first.shape == (1, 32)
    for options in ({'hops': 2}, {'hops': 8, 'peripheral': False}, {}):
        network = KPGINEncoder(**options)
        alone = network(Batch.from_data_list([to_data(nx.path_graph(3))]))
        torch.testing.assert_close(network(batch), alone)
