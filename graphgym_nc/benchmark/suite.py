"""All measurements by name, with their tables and plots."""

import json
import math
import os
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from graphgym_nc import kernels
from graphgym_nc.benchmark.accuracy import measure_accuracy
from graphgym_nc.benchmark.equal_edges import measure_equal_edges
from graphgym_nc.benchmark.launches import measure_launches
from graphgym_nc.benchmark.layer import measure_layer, measure_memory
from graphgym_nc.benchmark.measure import copy_bandwidth, matmul_flops
from graphgym_nc.benchmark.paths import TOLERANCE, compare_paths
from graphgym_nc.benchmark.peers import CASES, measure_peers, pairs_told_apart
from graphgym_nc.benchmark.plot import (
    plot_accuracy,
    plot_listing,
    plot_peers,
    plot_power,
    plot_ratios,
    plot_roofline,
    plot_scaling,
    plot_shares,
)
from graphgym_nc.benchmark.roofline import measure_roofline
from graphgym_nc.benchmark.scaling import measure_scaling, slope
from graphgym_nc.benchmark.step import PARTS, measure_run
from graphgym_nc.benchmark.sums import measure_sums
from graphgym_nc.benchmark.triangles import measure_triangles
from graphgym_nc.benchmark.workloads import WORKLOADS, Workload, load_workload
from graphgym_nc.utils.packaged import packaged
from graphgym_nc.utils.render import markdown

Rows = list[dict[str, Any]]

_STEP_CONFIGS = ('cluster_4l_100k', 'pattern_4l_100k')

# The quickstart's CLUSTER, and how many epochs each model has.
_ACCURACY_OPTIONS = [
    'nc.sbm_graphs', '[1500,300,300]', 'optim.scheduler', 'one_cycle', 'optim.base_lr', '0.005',
    'print', 'file',
]  # fmt: skip
_ACCURACY_RUNS = {
    'gin_cluster_4l_100k': ['optim.max_epoch', '30'],
    'nc_cluster_4l_100k': ['optim.max_epoch', '6', 'nc.communicate_scale', '0.1'],
    'nc_cluster_4l_100k_lean': ['optim.max_epoch', '6'],
}
_ACCURACY = 58.0  # percent

_WITH_TWINS = {'imdb': 32, 'collab': 256}  # and the paper's batch sizes


@dataclass(frozen=True)
class Options:
    """What measurements have in common.

    Attributes:
        workloads: The graphs to measure on.
        threads: The number of threads.
        repeat: How often to measure.
        datasets: Where data sets are kept.
        most: The number of messages up to which to scale.
        out: The folder of plots.
        device: Where to run: :obj:`"cpu"` or :obj:`"cuda"`.
        pairs: The table of the pairs of BREC that systems tell apart, if there is one.
    """

    workloads: Sequence[str]
    threads: int
    repeat: int
    datasets: Path
    most: float
    out: Path
    device: str = 'cpu'
    pairs: Path | None = None


def run_suite(names: Sequence[str], options: Options, file: Path | None = None) -> None:
    """Measures, and prints the tables.

    Args:
        names: The measurements: keys of :obj:`MEASURES`.
        options: The options.
        file: The JSON file for all results, if they are to be kept.
    """
    torch.set_num_threads(options.threads)
    load = os.getloadavg()[0]
    if load + options.threads > (os.cpu_count() or 1) + 1:
        print(f'The machine is busy (load {load:.1f}): figures will be off.\n')
    device = options.device
    machine = (
        f'{machine_name(device)}, torch {torch.__version__}: '
        f'{copy_bandwidth(device=device) / 1e9:.0f} GB/s copied, '
        f'{matmul_flops(100_000, 72, device) / 1e9:.0f} GFLOP/s in a matrix product of width 72'
    )
    print(f'{machine}\n')
    results: dict[str, Rows] = {}
    if device != 'cpu':
        results['paths'] = check_paths(load_workload('cluster-70', options.datasets, 4).to(device))
        print(f'paths\n{markdown(rounded(results["paths"]))}\n', flush=True)
    for name in names:
        results[name] = MEASURES[name](options)
        print(f'{name}\n{markdown(rounded(results[name]))}\n', flush=True)
    if device != 'cpu':
        print(f'To paste into an issue:\n{in_one_line(machine, results)}')
    if file is not None:
        file.write_text(json.dumps(results, indent=2) + '\n')


def machine_name(device: str) -> str:
    """The processor that is measured."""
    if device != 'cpu':
        return torch.cuda.get_device_name(device)
    return f'{platform.processor() or platform.machine()}, {torch.get_num_threads()} thread(s)'


def check_paths(workload: Workload) -> Rows:
    """All paths of a device on a small batch.

    Raises:
        SystemExit: If one computes something else than in double precision.
    """
    rows = compare_paths(workload)
    for row in rows:
        if not row['greatest difference'] < TOLERANCE:
            raise SystemExit(f'Nothing is measured, as a path computes something else: {row}')
    return rows


def in_one_line(machine: str, results: Mapping[str, Rows]) -> str:
    """All that was measured of layers, and whether paths agree."""
    parts = [machine]
    if 'paths' in results:
        worst = max(row['greatest difference'] for row in results['paths'])
        parts.append(f'paths agree to {worst:.1g}')
    for row in results.get('layer', []):
        cells = rounded([row]).iloc[0].drop(['graphs', 'messages'])
        parts.append(', '.join(f'{name} {cell}' for name, cell in cells.items()))
    return '; '.join(parts)


def of_each(
    measure: Callable[[Workload, int], dict[str, Any]],
    plot: Callable[..., None] | None = None,
    file: str = '',
) -> Callable[[Options], Rows]:
    """A measurement of every workload, with its plot."""

    def run(options: Options) -> Rows:
        rows = [
            measure(load_workload(n, options.datasets).to(options.device), options.repeat)
            for n in options.workloads
            if n in WORKLOADS
        ]
        if plot is not None:
            plot(rows, path=options.out / file)
        return rows

    return run


def step(options: Options) -> Rows:
    opts = [
        'nc.sbm_graphs', '[512,32,32]', 'optim.max_epoch', '3', 'train.eval_period', '3',
        'dataset.dir', str(options.datasets), 'print', 'file', 'num_threads', str(options.threads),
        'accelerator', options.device,
    ]  # fmt: skip
    rows: Rows = []
    for name in _STEP_CONFIGS:
        runs = (f'gin_{name}', f'nc_{name}', f'nc_{name}_lean')
        group = [measure_run(packaged('configs', run), opts) for run in runs]
        for row in group:
            row['as a multiple'] = row['ms per step'] / group[0]['ms per step']
        rows += group
    plot_shares(rows, PARTS, options.out / 'step.png')
    return rows


def accuracy(options: Options) -> Rows:
    common = ['dataset.dir', str(options.datasets), 'num_threads', str(options.threads)]
    curves = [
        measure_accuracy(packaged('configs', name), [*_ACCURACY_OPTIONS, *common, *own])
        for name, own in _ACCURACY_RUNS.items()
    ]
    plot_accuracy(curves, _ACCURACY, options.out / 'accuracy.png')
    return [curve.row(_ACCURACY) for curve in curves]


def scaling(options: Options) -> Rows:
    rows = list(
        measure_scaling(options.datasets, min(options.repeat, 5), options.most, options.device)
    )
    for column in ('NC-GNN, ms', 'NC-GNN, MB'):
        print(f'{column} grows with messages to the power of {slope(rows, column):.2f}')
    plot_scaling(rows, options.out / 'scaling.png')
    return rows


def sums(options: Options) -> Rows:
    names = [name for name in options.workloads if name in WORKLOADS]
    loaded = (load_workload(name, options.datasets) for name in names)
    return [measure_sums(workload, options.repeat) for workload in loaded]


def peers(options: Options) -> Rows:
    if options.device != 'cpu':
        raise SystemExit("'peers' is measured on the CPU: leave out '--device'")
    groups = [
        measure_peers(name, options.datasets, options.repeat)
        for name in options.workloads
        if name in CASES
    ]
    plot_peers(groups, options.out / 'peers.png')
    if options.pairs is not None:
        plot_power(groups, pairs_told_apart(options.pairs), options.out / 'power.png')
    return [row for rows in groups for row in rows]


def equal(options: Options) -> Rows:
    if options.device != 'cpu':
        raise SystemExit("'equal' is about kernels for the CPU: leave out '--device'")
    return [
        measure_equal_edges(
            load_workload(name, options.datasets, batch_size), min(options.repeat, 5)
        )
        for name, batch_size in _WITH_TWINS.items()
        if name in options.workloads
    ]


def triton(options: Options) -> Rows:
    with kernels.use('triton'):  # or tell how to install it
        from graphgym_nc.benchmark.triton_kernels import measure_kernels

        return measure_kernels()


MEASURES: dict[str, Callable[[Options], Rows]] = {
    'layer': of_each(measure_layer, partial(plot_ratios, what='time'), 'layer.png'),
    'memory': of_each(
        lambda workload, _: measure_memory(workload), partial(plot_ratios, what='memory'),
        'memory.png',
    ),
    'launches': of_each(lambda workload, _: measure_launches(workload, compiled=True)),
    'triangles': of_each(measure_triangles, plot_listing, 'triangles.png'),
    'step': step,
    'accuracy': accuracy,
    'scaling': scaling,
    'equal': equal,
    'roofline': of_each(measure_roofline, plot_roofline, 'roofline.png'),
    'sums': sums,
    'peers': peers,
    'triton': triton,
}  # fmt: skip

#: What is measured without a name, by the kind of device.
USUAL = {
    'cpu': ['layer', 'memory', 'triangles'],
    'cuda': [name for name in MEASURES if name not in ('equal', 'peers')],
}


def rounded(rows: Rows) -> pd.DataFrame:
    def text(value: Any) -> str:
        if isinstance(value, float):
            return '-' if math.isnan(value) else f'{value:.3g}' if value < 10 else f'{value:,.0f}'
        return f'{value:,}' if isinstance(value, int) else str(value)

    return pd.DataFrame(rows).map(text)
