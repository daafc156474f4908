"""Time and memory of a layer against the number of messages."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from torch_geometric.data import Batch, Data

from graphgym_nc.benchmark.layer import Contestants
from graphgym_nc.benchmark.measure import peak_bytes, seconds
from graphgym_nc.benchmark.workloads import Workload
from graphgym_nc.datasets.sbm import GeneratedSBM

_CHANNELS = 16
_MESSAGES_PER_GRAPH = 65_000  # of PATTERN, about


def measure_scaling(
    root: Path, repeat: int, most: float, device: str = 'cpu'
) -> Iterator[dict[str, Any]]:
    """Measures batches of more and more graphs of PATTERN, from a part of one.

    Args:
        root: Where data sets are kept.
        repeat: How often to run each layer.
        most: The number of messages not to exceed.
        device: Where to run.
    """
    dataset = GeneratedSBM(root, 'PATTERN', (256, 1, 1))
    for wanted in 10 ** np.arange(4, np.log10(most) + 0.01, 0.5):
        number = max(1, round(wanted / _MESSAGES_PER_GRAPH))
        graphs = [dataset[i % 256] for i in range(number)]
        if wanted < _MESSAGES_PER_GRAPH:  # a share of the nodes has its cube of triangles
            nodes = round(graphs[0].num_nodes * (wanted / _MESSAGES_PER_GRAPH) ** (1 / 3))
            graphs = [graphs[0].subgraph(graphs[0].y.argsort()[:nodes])]
        bare = [Data(edge_index=data.edge_index, num_nodes=data.num_nodes) for data in graphs]
        workload = Workload('pattern', 'generated', Batch.from_data_list(bare), _CHANNELS)
        yield _measure(workload.to(device), repeat)


def _measure(workload: Workload, repeat: int) -> dict[str, Any]:
    contestants = Contestants.of(workload)
    functions = contestants.functions
    times = seconds(functions, repeat, f'{contestants.incidence.num_messages:,} messages')
    return {
        'messages': contestants.incidence.num_messages,
        'edges': contestants.incidence.num_edges,
        **{f'{name}, ms': 1e3 * time for name, time in times.items()},
        **{f'{name}, MB': peak_bytes(run) / 2**20 for name, run in functions.items()},
    }


def slope(rows: list[dict[str, Any]], column: str) -> float:
    """The exponent of a power law through the upper half of the measurements."""
    known = [row for row in rows if column in row]
    known = known[len(known) // 2 :]
    messages = np.log([row['messages'] for row in known])
    return float(np.polyfit(messages, np.log([row[column] for row in known]), 1)[0])
