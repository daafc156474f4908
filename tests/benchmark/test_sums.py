from torch_geometric.data import Data

from graphgym_nc.benchmark.sums import measure_sums
from graphgym_nc.benchmark.workloads import Workload
from graphgym_nc.triangles.listing import find_triangles
from tests.reference import dense_graph


def test_sums():
    edge_index = dense_graph(30, 0.5)
    workload = Workload('small', 'drawn', Data(edge_index=edge_index, num_nodes=30), channels=8)
    row = measure_sums(workload, 1)
    assert row['terms'] == 3 * find_triangles(edge_index, 30).size(1)
    assert all(value > 0 for name, value in row.items() if name != 'workload')
