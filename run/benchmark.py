"""What NC-GNN costs, side by side with GIN in one process.

layer      one layer, forward and backward, as a multiple of PyG's GINConv
memory     its peak memory, likewise
triangles  finding triangles, and building what the layers need of them
step       training steps through the runner, and where their time goes
scaling    time and memory of a layer against the number of messages
equal      four layers with a row for every edge, or for edges that are equal (imdb, collab)
roofline   how near a layer comes to the peaks of the machine, which are measured, too

Without a name, the first three. Tables on the screen and, with plots, in --out.
"""

import argparse
import json
import math
import os
import platform
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

os.environ.setdefault('GOMP_SPINCOUNT', '10000')  # as in main.py

import torch

import graphgym_nc  # noqa: F401
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
from graphgym_nc.benchmark.workloads import WORKLOADS, load_workload
from graphgym_nc.reports.runs import markdown
from graphgym_nc.utils.memory import keep_freed_memory

Rows = list[dict[str, Any]]

_STEP_CONFIGS = ('cluster_4l_100k', 'pattern_4l_100k')

_WITH_TWINS = {'imdb': 32, 'collab': 256}  # and the paper's batch sizes


def main() -> None:
    args = parse_args()
    if args.allocator == 'kept':
        keep_freed_memory()
    torch.set_num_threads(args.threads)
    if hasattr(os, 'getloadavg') and os.getloadavg()[0] + args.threads > (os.cpu_count() or 1) + 1:
        print(f'The machine is busy (load {os.getloadavg()[0]:.1f}): figures will be off.\n')
    print(
        f'{platform.processor() or platform.machine()}, {args.threads} thread(s), torch '
        f'{torch.__version__}: {copy_bandwidth() / 1e9:.0f} GB/s copied, '
        f'{matmul_flops(100_000, 72) / 1e9:.0f} GFLOP/s in a matrix product of width 72\n'
    )
    results: dict[str, Rows] = {}
    for name in args.what or ['layer', 'memory', 'triangles']:
        results[name] = MEASURES[name](args)
        print(f'{name}\n{markdown(rounded(results[name]))}\n', flush=True)
    if args.json:
        args.json.write_text(json.dumps(results, indent=2) + '\n')


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add('what', nargs='*', help='layer, memory, triangles, step, scaling, equal, roofline')
    add(
        '--workload',
        nargs='+',
        choices=WORKLOADS,
        default=list(WORKLOADS),
        metavar='NAME',
        help=f'of all but step and scaling: {", ".join(WORKLOADS)} (default: all)',
    )
    add('--threads', type=int, default=torch.get_num_threads())
    add(
        '--allocator',
        choices=('kept', 'default'),
        default='kept',
        help="freed memory: kept, as in run/main.py (default), or as is the C library's default",
    )
    add('--repeat', type=int, default=11, help='how often to measure (default: %(default)s)')
    add('--dir', type=Path, default=Path('datasets'), help='data sets (default: %(default)s)')
    add('--most', type=float, default=1e8, help='messages, for scaling (default: %(default)g)')
    add('--out', type=Path, default=Path('results/benchmark'), help='default: %(default)s')
    add('--json', type=Path, help='write all measurements to this file')
    args = parser.parse_args()
    for name in args.what:
        if name not in MEASURES:
            parser.error(f"there is no '{name}': choose from {', '.join(MEASURES)}")
    return args


def layer(args: argparse.Namespace) -> Rows:
    rows = [measure_layer(load_workload(n, args.dir), args.repeat) for n in args.workload]
    plot_ratios(rows, 'time', args.out / 'layer.png')
    return rows


def memory(args: argparse.Namespace) -> Rows:
    rows = [measure_memory(load_workload(name, args.dir)) for name in args.workload]
    plot_ratios(rows, 'memory', args.out / 'memory.png')
    return rows


def triangles(args: argparse.Namespace) -> Rows:
    rows = [measure_triangles(load_workload(n, args.dir), args.repeat) for n in args.workload]
    plot_listing(rows, args.out / 'triangles.png')
    return rows


def step(args: argparse.Namespace) -> Rows:
    configs = Path(__file__).parents[1] / 'configs'
    options = [
        'nc.sbm_graphs', '[512,32,32]', 'optim.max_epoch', '3', 'train.eval_period', '3',
        'dataset.dir', str(args.dir), 'print', 'file', 'num_threads', str(args.threads),
    ]  # fmt: skip
    rows: Rows = []
    for name in _STEP_CONFIGS:
        pair = [measure_run(configs / f'{model}_{name}.yaml', options) for model in ('gin', 'nc')]
        for row in pair:
            row['as a multiple'] = row['ms per step'] / pair[0]['ms per step']
        rows += pair
    plot_shares(rows, PARTS, args.out / 'step.png')
    return rows


def scaling(args: argparse.Namespace) -> Rows:
    rows = list(measure_scaling(args.dir, min(args.repeat, 5), args.most))
    for column in ('NC-GNN, ms', 'NC-GNN, MB'):
        print(f'{column} grows with messages to the power of {slope(rows, column):.2f}')
    plot_scaling(rows, args.out / 'scaling.png')
    return rows


def equal(args: argparse.Namespace) -> Rows:
    return [
        measure_equal_edges(load_workload(name, args.dir, batch_size), min(args.repeat, 5))
        for name, batch_size in _WITH_TWINS.items()
        if name in args.workload
    ]


def roofline(args: argparse.Namespace) -> Rows:
    rows = [measure_roofline(load_workload(n, args.dir), args.repeat) for n in args.workload]
    plot_roofline(rows, args.out / 'roofline.png')
    return rows


MEASURES: dict[str, Callable[[argparse.Namespace], Rows]] = {
    'layer': layer, 'memory': memory, 'triangles': triangles, 'step': step, 'scaling': scaling,
    'equal': equal, 'roofline': roofline,
}  # fmt: skip


def rounded(rows: Rows) -> pd.DataFrame:
    def text(value: Any) -> str:
        if isinstance(value, float):
            return '-' if math.isnan(value) else f'{value:.3g}' if value < 10 else f'{value:,.0f}'
        return f'{value:,}' if isinstance(value, int) else str(value)

    return pd.DataFrame(rows).map(text)


if __name__ == '__main__':
    main()
