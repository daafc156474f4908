import networkx as nx
import torch
from torch_geometric.data import Data
from torch_geometric.utils import to_undirected

from graphgym_nc.benchmark.equal_edges import contestants, measure_equal_edges
from graphgym_nc.benchmark.workloads import Workload


def test_all_ways_compute_the_same(monkeypatch):
    monkeypatch.setattr('graphgym_nc.triangles.merged_edges._MIN_EDGES', 1)
    graph = nx.connected_caveman_graph(3, 12)
    edge_index = to_undirected(torch.tensor(list(graph.edges)).t())
    workload = Workload('caves', 'drawn', Data(edge_index=edge_index, num_nodes=36), channels=6)
    outs = [function() for function in contestants(workload)[0].values()]
    for out in outs[1:]:
        torch.testing.assert_close(out, outs[0], rtol=1e-2, atol=1e-2)
    row = measure_equal_edges(workload, 1)
    assert row['of features'] < row['pairs of twins'] < row['edges']
    assert row['both, memory'] > 0
