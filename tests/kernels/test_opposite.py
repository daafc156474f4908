import networkx as nx
import pytest
import torch
from torch_geometric.data import Batch
from torch_geometric.utils import from_networkx

from graphgym_nc import TriangleIncidence, kernels
from graphgym_nc.kernels import openmp
from tests.incidences import assert_same


def batch_of_blocks() -> tuple[torch.Tensor, int]:
    """Dense and sparse graphs, nodes without edges, and graphs without triangles."""
    graphs = [
        nx.gnp_random_graph(40, 0.5, seed=0),
        nx.empty_graph(3),
        nx.star_graph(4),
        nx.watts_strogatz_graph(600, 6, 0.1, seed=1),
        nx.complete_bipartite_graph(3, 4),
        nx.gnp_random_graph(70, 0.3, seed=2),
        nx.empty_graph(2),
    ]
    batch = Batch.from_data_list([from_networkx(graph) for graph in graphs])
    return batch.edge_index, batch.num_nodes


@pytest.mark.parametrize('threads', [1, 2, 3, 50])
def test_threads_share_the_blocks(threads, monkeypatch):
    edge_index, num_nodes = batch_of_blocks()
    with kernels.use('torch'):
        expected = TriangleIncidence.build(edge_index, num_nodes)
    monkeypatch.setattr(openmp, 'threads_for', lambda work: threads)
    found = TriangleIncidence.build(edge_index, num_nodes)
    assert found.twins is None  # or else these lists are not what was made
    assert_same(found, expected)
