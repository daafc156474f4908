"""Draws what was measured."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from graphgym_nc.benchmark.accuracy import Curve
from graphgym_nc.utils.render import save_figure

Rows = Sequence[dict[str, Any]]


def plot_ratios(rows: Rows, what: str, path: Path) -> None:
    """Bars for every workload: what each layer takes, as a multiple of GIN's."""
    skipped = {'workload', 'graphs', 'messages', f'GINConv {"ms" if what == "time" else "MB"}'}
    names = dict.fromkeys(name for row in rows for name in row if name not in skipped)
    figure, axis = _bars(rows, list(names))
    axis.axhline(1, color='black', linewidth=0.8)
    axis.set_ylabel(f"{what}, as a multiple of PyG's GINConv")
    save_figure(figure, path)


def plot_listing(rows: Rows, path: Path) -> None:
    """Bars for every workload: the time to find triangles."""
    figure, axis = _bars(rows, [name for name in rows[0] if name.endswith(', ms')])
    axis.set_ylabel('ms')
    save_figure(figure, path)


def _bars(rows: Rows, names: Sequence[str]) -> tuple[Figure, Axes]:
    """Some columns of all workloads, on a log axis."""
    figure = Figure(figsize=(max(6, 1.6 + 1.3 * len(rows)), 4.2), layout='constrained')
    axis = figure.subplots()
    width = 0.8 / len(names)
    for i, name in enumerate(names):
        values = [row.get(name, np.nan) for row in rows]
        place = np.arange(len(rows)) + (i + 0.5) * width - 0.4
        bars = axis.bar(place, values, width, label=name)
        axis.bar_label(bars, [f'{v:.1f}' if v < 100 else f'{v:.0f}' for v in values], fontsize=7)
    axis.set_yscale('log')
    axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.yaxis.set_major_formatter('{x:g}')
    axis.yaxis.set_minor_formatter(NullFormatter())
    axis.set_xticks(range(len(rows)), [row['workload'] for row in rows])
    axis.legend(fontsize=8, ncols=4, loc='upper center', bbox_to_anchor=(0.5, 1.14))
    return figure, axis


def plot_scaling(rows: Rows, path: Path) -> None:
    """Time and memory against the number of messages, on log axes."""
    figure = Figure(figsize=(10, 4), layout='constrained')
    axes = figure.subplots(1, 2)
    for axis, unit in zip(axes, ('ms', 'MB'), strict=True):
        columns = dict.fromkeys(name for row in rows for name in row if name.endswith(f', {unit}'))
        for column in columns:
            known = [row for row in rows if column in row]
            axis.plot(
                [row['messages'] for row in known],
                [row[column] for row in known],
                'o-',
                label=column.removesuffix(f', {unit}'),
                markersize=3,
            )
        axis.set(xscale='log', yscale='log', xlabel='messages', ylabel=unit)
        axis.grid(alpha=0.3)
        axis.legend(fontsize=8)
    axes[0].set_title('forward and backward, time')
    axes[1].set_title('peak memory')
    save_figure(figure, path)


def plot_shares(rows: Rows, parts: Sequence[str], path: Path) -> None:
    """Stacked bars: where the time of a run goes."""
    figure = Figure(figsize=(8, 0.8 + 0.6 * len(rows)), layout='constrained')
    axis = figure.subplots()
    left = np.zeros(len(rows))
    for part in parts:
        values = np.array([row[part] for row in rows])
        axis.barh([row['run'] for row in rows], values, left=left, label=part)
        left += values
    axis.set_xlabel('share of the epoch, %')
    axis.invert_yaxis()
    axis.legend(fontsize=8, ncols=len(parts), loc='upper center', bbox_to_anchor=(0.5, 1.25))
    save_figure(figure, path)


def plot_accuracy(curves: Sequence[Curve], target: float, path: Path) -> None:
    """Accuracy against the time of training, and where it is to get to."""
    figure = Figure(figsize=(7, 4.2), layout='constrained')
    axis = figure.subplots()
    for curve in curves:
        axis.plot(curve.seconds, curve.accuracy, 'o-', label=curve.run, markersize=3)
    axis.axhline(target, color='black', linewidth=0.8)
    axis.set(xlabel='seconds of training', ylabel='accuracy on validation, %')
    axis.grid(alpha=0.3)
    axis.legend(fontsize=8)
    save_figure(figure, path)


def plot_peers(groups: Sequence[Rows], path: Path) -> None:
    """For every workload, the time and memory of all systems as multiples of GIN's."""
    figure = Figure(figsize=(3.2 * len(groups) + 1.5, 1 + 0.28 * max(map(len, groups))),
                    layout='constrained')  # fmt: skip
    for axis, rows in zip(figure.subplots(1, len(groups), squeeze=False)[0], groups, strict=True):
        place = np.arange(len(rows))
        for shift, what in ((-0.2, 'time'), (0.2, 'memory')):
            values = [row[f'{what} over GIN'] for row in rows]
            axis.barh(place + shift, values, 0.4, label=what)
        axis.set_yticks(place, [row['system'] for row in rows], fontsize=8)
        axis.set(xscale='log', title=rows[0]['workload'])
        axis.axvline(1, color='black', linewidth=0.8)
        axis.invert_yaxis()
    axis.legend(fontsize=8)
    figure.supxlabel("a training step, as a multiple of GIN's", fontsize=9)
    save_figure(figure, path)


def plot_power(groups: Sequence[Rows], pairs: Mapping[str, int], path: Path) -> None:
    """For every workload, the pairs of BREC that systems tell apart, against their time."""
    figure = Figure(figsize=(3 * len(groups) + 2, 3.6), layout='constrained')
    axes = figure.subplots(1, len(groups), sharey=True, squeeze=False)[0]
    points = {}
    for axis, rows in zip(axes, groups, strict=True):
        for row in (row for row in rows if row['system'] in pairs):
            name = row['system']
            i = [*pairs].index(name)
            points[name] = axis.scatter(
                row['time over GIN'], pairs[name], color=f'C{i % 10}', marker='osD^'[i // 10]
            )
        axis.set(xscale='log', title=rows[0]['workload'])
        axis.grid(alpha=0.3)
    axes[0].set_ylabel('pairs of BREC told apart, of 400')
    figure.supxlabel("time of a training step, as a multiple of GIN's", fontsize=9)
    shown = [name for name in pairs if name in points]
    figure.legend([points[n] for n in shown], shown, loc='outside right center', fontsize=8)
    save_figure(figure, path)


def plot_roofline(rows: Rows, path: Path) -> None:
    """The rate of every workload against its operations per byte, and the roof above it, from
    peaks at its own size. The line has the slowest memory and the fastest products of all.
    """
    figure = Figure(figsize=(7, 4.5), layout='constrained')
    axis = figure.subplots()
    bandwidth = min(row['peak GB/s'] for row in rows)
    peak = max(row['peak GFLOP/s'] for row in rows)
    ridge = peak / bandwidth
    label = f'{bandwidth:.3g} GB/s, {peak:.3g} GFLOP/s'
    axis.plot([ridge / 20, ridge, ridge * 20], [peak / 20, peak, peak], color='black', label=label)
    for i, row in enumerate(rows):
        x, y, top = row['FLOP/byte'], row['GFLOP/s'], row['roof GFLOP/s']
        color = f'C{i}'
        axis.plot([x, x], [y, top], ':', color=color)
        axis.plot(x, top, '_', color=color, markersize=12)
        label = f'{row["workload"]} ({row["share of the roof, %"]:.0f} %)'
        axis.plot(x, y, 'o', color=color, label=label)
    axis.set(xscale='log', yscale='log', xlabel='operations per byte', ylabel='GFLOP/s')
    axis.set_title('one layer (dot), and what the machine allows for it (bar)', fontsize=10)
    axis.grid(alpha=0.3)
    axis.legend(fontsize=8)
    save_figure(figure, path)
