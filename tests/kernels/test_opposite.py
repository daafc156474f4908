import multiprocessing
from dataclasses import replace

import networkx as nx
import pytest
import torch
from torch_geometric import EdgeIndex
from torch_geometric.data import Batch
from torch_geometric.utils import from_networkx

from graphgym_nc import TriangleIncidence, find_triangles, kernels
from graphgym_nc.kernels import openmp
from tests.incidences import assert_same
from tests.reference import dense_graph


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


def test_a_thread_that_has_failed_is_noticed(monkeypatch):
    edge_index, num_nodes = batch_of_blocks()
    monkeypatch.setattr(openmp, 'launch', lambda *args, threads: None)
    with pytest.raises(MemoryError, match='list the triangles'):
        TriangleIncidence.build(edge_index, num_nodes)


def test_no_nodes():
    incidence = TriangleIncidence.build(torch.empty(2, 0, dtype=torch.long), 0)
    assert incidence.opposite.rowptr.tolist() == [0]


def count_messages(edge_index, queue):
    queue.put(TriangleIncidence.build(edge_index, 90).num_messages)


def test_in_a_forked_process():
    """With as many threads as its parent, where torch's pool of threads is lost."""
    threads, edge_index = torch.get_num_threads(), dense_graph(90, 0.9)
    context = multiprocessing.get_context('fork')
    queue = context.Queue()
    process = context.Process(target=count_messages, args=(edge_index, queue), daemon=True)
    try:
        torch.set_num_threads(2)
        count_messages(edge_index, queue)
        expected = queue.get(timeout=60)
        process.start()
        assert queue.get(timeout=60) == expected > 1 << 15
    finally:
        process.kill()
        torch.set_num_threads(threads)


def test_edge_index_of_pyg(monkeypatch):
    edge_index, num_nodes = batch_of_blocks()
    own = EdgeIndex(edge_index, sparse_size=(num_nodes, num_nodes))
    monkeypatch.setattr('graphgym_nc.triangles.incidence.parts_by_torch', None)  # not needed
    found = TriangleIncidence.build(own, num_nodes)
    assert found.is_of(own)
    expected = TriangleIncidence.build(edge_index, num_nodes)
    assert_same(replace(found, edge_index=edge_index), expected)
    assert torch.equal(find_triangles(own), find_triangles(edge_index))
