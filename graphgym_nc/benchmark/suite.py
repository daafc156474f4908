"""All measurements by name, with their tables and plots."""

import json
import math
import os
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from graphgym_nc import kernels
from graphgym_nc.benchmark.equal_edges import measure_equal_edges
from graphgym_nc.benchmark.layer import measure_layer, measure_memory
from graphgym_nc.benchmark.measure import copy_bandwidth, matmul_flops
from graphgym_nc.benchmark.plot import (
    plot_listing,
    plot_ratios,
    plot_roofline,
    plot_scaling,
    plot_shares,
)
from graphgym_nc.benchmark.roofline import measure_roofline
from graphgym_nc.benchmark.scaling import measure_scaling, slope
from graphgym_nc.benchmark.step import PARTS, measure_run
from graphgym_nc.benchmark.triangles import measure_triangles
from graphgym_nc.benchmark.workloads import Workload, load_workload
from graphgym_nc.utils.packaged import packaged
from graphgym_nc.utils.render import markdown

Rows = list[dict[str, Any]]

_STEP_CONFIGS = ('cluster_4l_100k', 'pattern_4l_100k')

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
    """

    workloads: Sequence[str]
    threads: int
    repeat: int
    datasets: Path
    most: float
    out: Path


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
    print(
        f'{platform.processor() or platform.machine()}, {options.threads} thread(s), torch '
        f'{torch.__version__}: {copy_bandwidth() / 1e9:.0f} GB/s copied, '
        f'{matmul_flops(100_000, 72) / 1e9:.0f} GFLOP/s in a matrix product of width 72\n'
    )
    results: dict[str, Rows] = {}
    for name in names:
        results[name] = MEASURES[name](options)
        print(f'{name}\n{markdown(rounded(results[name]))}\n', flush=True)
    if file is not None:
        file.write_text(json.dumps(results, indent=2) + '\n')


def of_each(
    measure: Callable[[Workload, int], dict[str, Any]], plot: Callable[..., None], file: str
) -> Callable[[Options], Rows]:
    """A measurement of every workload, with its plot."""

    def run(options: Options) -> Rows:
        rows = [
            measure(load_workload(n, options.datasets), options.repeat) for n in options.workloads
        ]
        plot(rows, path=options.out / file)
        return rows

    return run


def step(options: Options) -> Rows:
    opts = [
        'nc.sbm_graphs', '[512,32,32]', 'optim.max_epoch', '3', 'train.eval_period', '3',
        'dataset.dir', str(options.datasets), 'print', 'file', 'num_threads', str(options.threads),
    ]  # fmt: skip
    rows: Rows = []
    for name in _STEP_CONFIGS:
        pair = [
            measure_run(packaged('configs', f'{model}_{name}'), opts) for model in ('gin', 'nc')
        ]
        for row in pair:
            row['as a multiple'] = row['ms per step'] / pair[0]['ms per step']
        rows += pair
    plot_shares(rows, PARTS, options.out / 'step.png')
    return rows


def scaling(options: Options) -> Rows:
    rows = list(measure_scaling(options.datasets, min(options.repeat, 5), options.most))
    for column in ('NC-GNN, ms', 'NC-GNN, MB'):
        print(f'{column} grows with messages to the power of {slope(rows, column):.2f}')
    plot_scaling(rows, options.out / 'scaling.png')
    return rows


def equal(options: Options) -> Rows:
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
    'triangles': of_each(measure_triangles, plot_listing, 'triangles.png'),
    'step': step,
    'scaling': scaling,
    'equal': equal,
    'roofline': of_each(measure_roofline, plot_roofline, 'roofline.png'),
    'triton': triton,
}  # fmt: skip


def rounded(rows: Rows) -> pd.DataFrame:
    def text(value: Any) -> str:
        if isinstance(value, float):
            return '-' if math.isnan(value) else f'{value:.3g}' if value < 10 else f'{value:,.0f}'
        return f'{value:,}' if isinstance(value, int) else str(value)

    return pd.DataFrame(rows).map(text)
