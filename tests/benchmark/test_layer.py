import pytest
import torch
from torch_geometric.data import Data

from graphgym_nc.benchmark.layer import Contestants, measure_layer, measure_memory
from graphgym_nc.benchmark.triangles import count_by_scipy, measure_triangles
from graphgym_nc.benchmark.workloads import Workload
from graphgym_nc.triangles.listing import find_triangles
from tests.reference import dense_graph

NAMES = [
    'GINConv', 'NC-GNN', 'NC-GNN, torch', 'lean', 'lean, torch', 'GIN, our sum', 'every message'
]  # fmt: skip


@pytest.fixture
def workload():
    data = Data(edge_index=dense_graph(30, 0.5), num_nodes=30)
    return Workload('small', 'drawn', data, channels=6)


def test_all_contestants_compute_the_same(workload, monkeypatch):
    results = {}

    def note(conv, x, *args):
        results[type(conv).__name__, len(results)] = conv(x, *args).detach()

    monkeypatch.setattr('graphgym_nc.benchmark.layer._run', note)
    contestants = Contestants.of(workload)
    assert list(contestants.functions) == NAMES
    for function in contestants.functions.values():
        function()
    gin, nc, on_torch, lean, lean_on_torch, our_sum, every_message = results.values()
    torch.testing.assert_close(our_sum, gin)
    torch.testing.assert_close(on_torch, nc, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(every_message, nc, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(lean_on_torch, lean, rtol=1e-4, atol=1e-4)
    assert not any(torch.allclose(nc, other) for other in (gin, lean))


def test_measurements(workload):
    for row in (measure_layer(workload, 1), measure_memory(workload)):
        assert row['messages'] == 3 * find_triangles(workload.data.edge_index, 30).size(1)
        assert all(row[name] > 0 for name in NAMES[1:])
    row = measure_triangles(workload, 1)
    assert 0 < row['share of 4 layers, %'] < 100
    assert row['triangles'] == count_by_scipy(workload.data.edge_index, 30)


def test_what_takes_too_much_memory_is_left_out(workload, monkeypatch):
    monkeypatch.setattr('graphgym_nc.benchmark.layer._MAX_MATERIALISED', 10)
    assert list(Contestants.of(workload).functions) == NAMES[:-1]
