import pytest
import torch
from torch_geometric.data import Data

from graphgym_nc import kernels
from graphgym_nc.benchmark import paths
from graphgym_nc.benchmark.paths import TOLERANCE, compare_paths
from graphgym_nc.benchmark.suite import check_paths, in_one_line
from graphgym_nc.benchmark.workloads import Workload
from tests.reference import dense_graph

CPU, GPU = torch.device('cpu'), torch.device('cuda')


@pytest.fixture
def workload():
    return Workload('small', 'drawn', Data(edge_index=dense_graph(30), num_nodes=30), channels=8)


def test_all_paths_agree(workload):
    rows = compare_paths(workload, repeat=1)
    assert {(row['layer'], row['path']) for row in rows} >= {
        (layer, path) for layer in ('paper', 'lean') for path in ('numba', 'torch')
    }
    assert all(0 < row['greatest difference'] < TOLERANCE for row in rows)
    assert all(row['ms'] > 0 for row in rows)
    assert check_paths(workload)
    (worst,) = (max(row['greatest difference'] for row in rows),)
    row = {'workload': 'a', 'graphs': 'x', 'messages': 3, 'GINConv ms': 1.5, 'NC-GNN': 2.25}
    line = in_one_line('a machine', {'paths': rows, 'layer': [row]})
    assert line == (
        f'a machine; paths agree to {worst:.1g}; workload a, GINConv ms 1.5, NC-GNN 2.25'
    )


def test_a_path_that_computes_something_else(workload, monkeypatch):
    state = paths._state

    def wrong(conv, x, edge_index, incidence, path):
        found = state(conv, x, edge_index, incidence, path)
        return found if x.dtype == torch.double else {**found, 'x': 1.01 * found['x']}

    monkeypatch.setattr(paths, '_state', wrong)
    with pytest.raises(SystemExit, match='Nothing is measured'):
        check_paths(workload)


def test_which_path_is_taken(monkeypatch):
    assert paths.default(CPU) == 'numba'
    assert paths.default(GPU) == 'torch'
    assert paths.others(CPU) == ['torch']
    assert 'numba' not in paths.paths(GPU)
    monkeypatch.setattr(kernels, '_problem', lambda: 'it is broken')
    assert paths.default(CPU) == 'torch'
    assert 'it is broken' in paths.paths(CPU)['numba']
