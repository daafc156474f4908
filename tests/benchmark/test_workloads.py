import networkx as nx
import pytest
from torch_geometric.utils import contains_self_loops, is_undirected

from graphgym_nc import find_triangles
from graphgym_nc.benchmark import workloads
from graphgym_nc.benchmark.scaling import measure_scaling, slope
from graphgym_nc.benchmark.workloads import WORKLOADS, load_workload
from tests.tu_files import write_tu


@pytest.fixture(autouse=True)
def small_social_graph(monkeypatch):
    graph = workloads._social(200, 2000)
    monkeypatch.setattr(workloads, '_social', lambda: graph)


@pytest.mark.parametrize('name', WORKLOADS)
def test_graphs(name, tmp_path):
    workload = load_workload(name, tmp_path)
    data = workload.data
    assert workload.features().shape == (data.num_nodes, WORKLOADS[name])
    assert is_undirected(data.edge_index)
    assert not contains_self_loops(data.edge_index)
    triangles = find_triangles(data.edge_index, data.num_nodes).size(1)
    assert (triangles > 0) == (name not in ('mutag', 'nci1'))
    again = load_workload(name, tmp_path)
    assert data.edge_index.equal(again.data.edge_index)


def test_real_graphs_where_they_are(tmp_path):
    graphs = [nx.cycle_graph(4) for _ in range(40)]
    write_tu(tmp_path, 'MUTAG', graphs, [i % 2 for i in range(40)], 2)
    workload = load_workload('mutag', tmp_path)
    assert workload.source == 'real'
    assert workload.data.num_nodes == 32 * 4


def test_scaling(tmp_path):
    rows = list(measure_scaling(tmp_path, repeat=1, most=1e5))
    messages = [row['messages'] for row in rows]
    assert messages == sorted(messages)
    assert messages[-1] > 30_000
    assert rows[0]['NC-GNN, MB'] < rows[-1]['NC-GNN, MB']


def test_slope_by_hand():
    rows = [{'messages': 10**k, 'ms': 3 * 10 ** (2 * k)} for k in range(1, 5)]
    assert slope([{'messages': 1, 'ms': 99.0}, *rows, {'messages': 7}], 'ms') == pytest.approx(2)
