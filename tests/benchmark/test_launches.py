import torch
import torch.nn.functional as F
from torch_geometric.data import Data

from graphgym_nc.benchmark.launches import (
    LaunchCounter,
    Run,
    count_compiled,
    layers,
    measure_launches,
)
from graphgym_nc.benchmark.workloads import Workload
from graphgym_nc.triangles.incidence import TriangleIncidence
from tests.compilers import needs_compiler
from tests.reference import dense_graph


def counted(function):
    with LaunchCounter() as counter:
        function()
    return dict(counter.operations), counter.bytes, counter.gathered


def test_by_hand():
    x, row = torch.ones(4, 3), torch.ones(3)  # 48 and 12 bytes
    index, rowptr = torch.tensor([0, 1, 3, 3]), torch.tensor([0, 2, 4])  # 32 and 24 bytes
    assert counted(lambda: x + 1) == ({'add': 1}, 96, 0)
    assert counted(lambda: x.t().detach()[1:]) == ({}, 0, 0)
    assert counted(lambda: torch.empty(9)) == ({}, 0, 0)
    assert counted(lambda: torch.empty(0, 3) * 2) == ({}, 0, 0)
    assert counted(lambda: x * x) == ({'mul': 1}, 96, 0)  # reads it once
    assert counted(lambda: x.mul_(2)) == ({'mul_': 1}, 96, 0)
    assert counted(x.zero_) == ({'zero_': 1}, 48, 0)
    assert counted(lambda: row.expand(4, 3) + x) == ({'add': 1}, 108, 0)
    assert counted(lambda: torch.add(x, 1, out=x)) == ({'add': 1}, 96, 0)
    assert counted(lambda: torch._foreach_add_([x, row], 1)) == ({'_foreach_add_': 1}, 120, 0)
    assert counted(lambda: x.index_select(0, index)) == ({'index_select': 1}, 128, 48)
    bag = F.embedding_bag(index, x, rowptr, mode='sum', include_last_offset=True)
    assert bag.shape == (2, 3)
    assert counted(
        lambda: F.embedding_bag(index, x, rowptr, mode='sum', include_last_offset=True)
    ) == ({'_embedding_bag_forward_only': 1}, 48 + 32 + 24 + 24, 48)


def workload(nodes=60, channels=16):
    data = Data(edge_index=dense_graph(nodes, 0.6), num_nodes=nodes)
    return Workload('small', 'drawn', data, channels)


def test_what_layers_launch():
    small, large = workload(), workload(120)
    row, of_large = measure_launches(small), measure_launches(large)
    assert row['GINConv'] < row['lean'] <= 61
    assert row['lean'] < row['NC-GNN'] <= 83
    for name in ('GINConv', 'NC-GNN', 'lean'):  # which is the same for batches of all sizes
        assert of_large[name] == row[name]
    edges = TriangleIncidence.build(large.data.edge_index, 120).num_edges
    of_rows, of_nodes = edges * 16 * 4 / 1e6, 120 * 16 * 4 / 1e6
    indices = large.data.edge_index.size(1) * 120 * 4 * 2 / 1e6
    assert of_large['NC-GNN, MB'] < 34 * of_rows + 130 * of_nodes + indices
    assert of_large['lean, MB'] < 11 * of_rows + 130 * of_nodes + indices


def test_meta_device_and_cpu_launch_the_same():
    small = workload()
    incidence = TriangleIncidence.build(small.data.edge_index, 60)
    for module in list(layers(16).values())[1:]:
        run = Run(module, small.features(), (small.data.edge_index, incidence))
        run()
        operations = []
        for each in (run, run.to('meta')):
            each()
            operations.append(counted(each))
        assert operations[0] == operations[1]


@needs_compiler
def test_compiled_layers_launch_less():
    small = workload()
    incidence = TriangleIncidence.build(small.data.edge_index, 60)
    run = Run(layers(16)['lean'], small.features(), (small.data.edge_index, incidence))
    assert 10 < count_compiled(run) < 40
