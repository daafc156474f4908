import pytest
from torch_geometric.data import Data

from graphgym_nc.benchmark.plot import plot_roofline
from graphgym_nc.benchmark.roofline import measure_roofline
from graphgym_nc.benchmark.workloads import Workload
from graphgym_nc.triangles.incidence import TriangleIncidence
from tests.reference import dense_graph


def test_roofline(tmp_path):
    edge_index = dense_graph(30, 0.5)
    workload = Workload('small', 'drawn', Data(edge_index=edge_index, num_nodes=30), channels=8)
    row = measure_roofline(workload, 1)
    edges = TriangleIncidence.build(edge_index, 30).num_edges
    # MLP1, and the first layer of MLP2, on nodes, the second on edges: each three products.
    flops = 2 * 8 * 8 * 3 * (3 * 30 + edges)
    assert row['GFLOP'] == pytest.approx(flops / 1e9)
    assert row['GFLOP/s'] == pytest.approx(flops / row['ms'] / 1e6)
    assert row['roof GFLOP/s'] == pytest.approx(
        min(row['peak GFLOP/s'], row['FLOP/byte'] * row['peak GB/s'])
    )
    assert row['limit'] in ('products', 'bandwidth')
    plot_roofline([row], tmp_path / 'roofline.png')
    assert (tmp_path / 'roofline.png').stat().st_size > 10_000
