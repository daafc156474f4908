"""How near a layer comes to the peaks of the machine (Williams et al., 2009)."""

from typing import Any

from graphgym_nc.benchmark.layer import Contestants
from graphgym_nc.benchmark.measure import FlopCounter, copy_bandwidth, matmul_flops, seconds
from graphgym_nc.benchmark.workloads import Workload
from graphgym_nc.triangles.incidence import TriangleIncidence

# How often all rows are read or written, as counted in the code: once for every operation, however
# often a sum comes back to a row. Forward, then backward.
_PASSES_OVER_EDGES = 7 + 16
_PASSES_OVER_NODES = {
    'MLP1: two of Linear, BatchNorm and ReLU': 2 * 7 + 2 * 12,
    'sums over neighbours, and with them': 8 + 13,
    'MLP2, where it goes from nodes to edges and back': 5 + 8,
}

_FLOAT_BYTES = 4
_ROWS_IN_CACHE = 1 << 12
_LEAST_BANDWIDTH_BYTES = 1 << 20


def measure_roofline(workload: Workload, repeat: int) -> dict[str, Any]:
    """The work of one layer, forward and backward, and the time that it would take at
    the machine's peaks, beside the time that it takes.

    Peaks are measured here: of matrix products whose rows stay in the caches, of the next
    width that is a multiple of eight, and of copies of as many bytes as all rows of edges
    have, which caches may hold or not.
    """
    contestants = Contestants.of(workload, materialise=False)
    layer = contestants.functions['NC-GNN']
    with FlopCounter() as counter:
        layer()
    flops, bytes_ = counter.total, _bytes(contestants.incidence, workload.channels)
    device = workload.data.edge_index.device
    rows = max(contestants.incidence.num_edges, contestants.incidence.num_nodes)
    peak = matmul_flops(min(rows, _ROWS_IN_CACHE), -(-workload.channels // 8) * 8, device)
    size = _FLOAT_BYTES * rows * workload.channels
    bandwidth = copy_bandwidth(max(size, _LEAST_BANDWIDTH_BYTES), device)
    time = seconds({'layer': layer}, repeat, workload.name, least=1.0)['layer']
    intensity = flops / bytes_
    roof = min(peak, intensity * bandwidth)
    return {
        'workload': workload.name,
        'GFLOP': flops / 1e9,
        'MB moved': bytes_ / 1e6,
        'FLOP/byte': intensity,
        'peak GFLOP/s': peak / 1e9,
        'peak GB/s': bandwidth / 1e9,
        'limit': 'products' if roof == peak else 'bandwidth',
        'roof GFLOP/s': roof / 1e9,
        'GFLOP/s': flops / time / 1e9,
        'share of the roof, %': 100 * flops / time / roof,
        'ms': 1e3 * time,
    }


def _bytes(incidence: TriangleIncidence, channels: int) -> int:
    """What has to be read and written at least, if caches hold what sums come back to."""
    over_nodes = sum(_PASSES_OVER_NODES.values())
    rows = _PASSES_OVER_EDGES * incidence.num_edges + over_nodes * incidence.num_nodes
    return _FLOAT_BYTES * channels * rows
