"""Plots of the paper's tables, and of the learning curves behind them."""

import textwrap
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from graphgym_nc.reports.paper.kept import Curve
from graphgym_nc.reports.paper.published import EXPERIMENTS, Experiment
from graphgym_nc.reports.paper.runs import PaperRun, percent
from graphgym_nc.reports.paper.tables import TITLES, fullest
from graphgym_nc.utils.render import save_figure

_COLOURS = {'published': 'tab:gray', 'ours': 'tab:blue', 'ours, reduced run': 'tab:orange'}
_DPI = 80  # pictures are kept in the repository


def plot_results(name: str, runs: Sequence[PaperRun], path: Path) -> bool:
    """Draws a table: a panel for each data set, a line for each model and configuration. A dot
    is the mean; a bar has one deviation to each side, and a band is that of the paper.

    Returns:
        Whether there is anything to draw.
    """
    ours = plotted(name, runs)
    experiments = [e for e in EXPERIMENTS if any(run.experiment == e for run in ours)]
    if not experiments:
        return False
    columns = min(len(experiments), 2)
    panels = [[run for run in ours if run.experiment == e] for e in experiments]
    most = max(
        len({*e.results, *(_label(run) for run in panel)})
        for e, panel in zip(experiments, panels, strict=True)
    )
    lines = -(-len(experiments) // columns)
    figure = Figure(
        figsize=(6.4 * columns, lines * (1.0 + 0.3 * most) + 0.8), layout='constrained'
    )
    for i, (experiment, panel) in enumerate(zip(experiments, panels, strict=True), start=1):
        _panel(figure.add_subplot(lines, columns, i), experiment, panel)
    handles = [
        Patch(color=colour, alpha=0.4, label=label)
        if label == 'published'
        else Line2D([], [], marker='o', color=colour, label=label)
        for label, colour in _COLOURS.items()
    ]
    figure.legend(handles=handles, loc='outside lower center', ncols=3)
    figure.suptitle(textwrap.fill(TITLES[name], 60 * columns))
    save_figure(figure, path, _DPI)
    return True


def plot_curves(name: str, runs: Sequence[PaperRun], curves: Sequence[Curve], path: Path) -> bool:
    """Draws the learning curves of a table: a panel for each data set, a colour for each
    configuration, dashed in training.

    Returns:
        Whether there is anything to draw.
    """
    panels: dict[str, list[PaperRun]] = {}
    for run in with_curves(name, runs, curves):
        panels.setdefault(run.experiment.name, []).append(run)
    if not panels:
        return False
    columns = min(len(panels), 3)
    lines = -(-len(panels) // columns)
    figure = Figure(figsize=(5.2 * columns, 3.6 * lines), layout='constrained')
    for i, (title, panel) in enumerate(panels.items(), start=1):
        axis = figure.add_subplot(lines, columns, i)
        _draw_curves(axis, panel, curves)
        axis.set_title(title)
    save_figure(figure, path, _DPI)
    return True


def plotted(name: str, runs: Sequence[PaperRun]) -> list[PaperRun]:
    """The runs that the plot of a table shows."""
    return [run for run in fullest(runs) if run.table == name]


def with_curves(name: str, runs: Sequence[PaperRun], curves: Sequence[Curve]) -> list[PaperRun]:
    """The runs of a table whose learning curves were kept."""
    known = {(curve.config, curve.changes) for curve in curves}
    return [run for run in plotted(name, runs) if (run.config, run.rows[0].changes) in known]


def _panel(axis: Axes, experiment: Experiment, runs: Sequence[PaperRun]) -> None:
    factor = percent(experiment.table)
    labels = dict.fromkeys([*experiment.results, *(_label(run) for run in runs)])
    for height, label in enumerate(labels):
        model = label.partition(':')[0]
        published = experiment.results.get(model)
        if published:
            width = published.std or 0.0
            box = height - 0.35, height + 0.35
            axis.fill_betweenx(
                box, published.mean - width, published.mean + width,
                color=_COLOURS['published'], alpha=0.4, linewidth=0,
            )  # fmt: skip
            axis.plot([published.mean] * 2, box, color=_COLOURS['published'])
        for run in (run for run in runs if _label(run) == label):
            kind = 'ours, reduced run' if run.shortfalls else 'ours'
            std = factor * run.std if run.std is not None else None
            axis.errorbar(
                factor * run.mean, height, xerr=std, fmt='o', color=_COLOURS[kind], capsize=3
            )
    axis.set_yticks(range(len(labels)), list(labels))
    axis.set_ylim(len(labels) - 0.5, -0.5)
    axis.set_title(experiment.name)
    axis.grid(axis='x', alpha=0.3)
    if experiment.table == 'counting':
        axis.set_xscale('log')


def _draw_curves(axis: Axes, runs: Sequence[PaperRun], curves: Sequence[Curve]) -> None:
    colours = colormaps['tab10'](np.arange(len(runs)) % 10)
    for run, colour in zip(runs, colours, strict=True):
        factor = percent(run.experiment.table)
        for curve in curves:
            if (curve.config, curve.changes) != (run.config, run.rows[0].changes):
                continue
            if curve.split == 'test':
                continue
            style = '--' if curve.split == 'train' else '-'
            label = _legend(run) if curve.split == 'val' else None
            values = [factor * float(value) for value in curve.values.split()]
            epochs = [int(epoch) for epoch in curve.epochs.split()]
            axis.plot(epochs, values, style, color=colour, label=label, linewidth=1.2)
        if run.experiment.table == 'counting':
            axis.set_yscale('log')
    axis.set_xlabel('epoch')
    axis.set_ylabel(f'{runs[0].rows[0].metric}, validation (training dashed)')
    axis.grid(alpha=0.3)
    axis.legend(fontsize=8)


def _label(run: PaperRun) -> str:
    return run.model + (f': {run.variant}' if run.variant else '')


def _legend(run: PaperRun) -> str:
    return run.config + (f'\n{run.changed}' if run.changed else '')
