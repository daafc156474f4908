"""Plots of the paper's tables."""

import textwrap
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from graphgym_nc.reports.paper.published import EXPERIMENTS, RELATIVE_TIME, Experiment
from graphgym_nc.reports.paper.runs import PaperRun
from graphgym_nc.reports.paper.tables import TITLES, percent, relative_time
from graphgym_nc.utils.render import save_figure

_COLOURS = {'published': 'tab:gray', 'ours': 'tab:blue', 'ours, reduced': 'tab:orange'}


def plot_results(name: str, runs: Sequence[PaperRun], path: Path) -> None:
    """Draws a table: a panel for each data set, a line for each model, with our
    figure and the published one, and their deviations.
    """
    experiments = [
        e for e in EXPERIMENTS if e.table == name and any(run.experiment is e for run in runs)
    ]
    columns = min(len(experiments), 3)
    lines = -(-len(experiments) // columns)
    figure = Figure(figsize=(5.4 * columns, 3.2 * lines), layout='constrained')
    for i, experiment in enumerate(experiments, start=1):
        axis = figure.add_subplot(lines, columns, i)
        _panel(axis, experiment, [run for run in runs if run.experiment is experiment])
    handles = [
        Line2D([], [], marker='o', linestyle='', color=colour, label=label)
        for label, colour in _COLOURS.items()
    ]
    figure.legend(handles=handles, loc='outside lower center', ncols=3)
    figure.suptitle(textwrap.fill(TITLES[name], 50 * columns))
    save_figure(figure, path)


def plot_times(runs: Sequence[PaperRun], path: Path) -> bool:
    """Draws the time of an epoch as a multiple of GIN's, ours and published.

    Returns:
        Whether there is anything to draw.
    """
    compared = {}
    for run in sorted(runs, key=lambda run: -len(run.shortfalls)):  # the fullest is kept
        relative = relative_time(run, runs)
        if run.model == 'NC-GNN' and relative is not None:
            name = run.experiment.name + (f'\n{run.options}' if run.options else '')
            compared[name] = (relative, RELATIVE_TIME.get(run.experiment.dataset))
    if not compared:
        return False
    figure = Figure(figsize=(2.4 + 1.5 * len(compared), 4), layout='constrained')
    axis = figure.add_subplot()
    position = np.arange(len(compared))
    for shift, index, label in ((-0.2, 1, 'published (GPU)'), (0.2, 0, 'ours')):
        values = [pair[index] or 0 for pair in compared.values()]
        bars = axis.bar(
            position + shift, values, 0.4, label=label, color=_COLOURS[label.partition(' ')[0]]
        )
        axis.bar_label(bars, [f'{value:.1f}' if value else '-' for value in values])
    axis.axhline(1, color='black', linewidth=0.8)
    axis.set_xticks(position, [name.replace(', ', '\n') for name in compared])
    axis.set_ylabel('x GIN')
    axis.set_title("Time of an epoch of NC-GNN, as a multiple of GIN's")
    axis.legend()
    save_figure(figure, path)
    return True


def _panel(axis: Axes, experiment: Experiment, runs: Sequence[PaperRun]) -> None:
    factor = percent(experiment.table)
    labels: list[str] = []
    models = list(dict.fromkeys([*experiment.results, *(run.model for run in runs)]))
    for model in models:
        published = experiment.results.get(model)
        ours = [run for run in runs if run.model == model]
        if published:
            _dot(axis, len(labels) - 0.15, published.mean, published.std, 'published')
        for i, run in enumerate(ours):
            mean, std = (factor * run.stats[key] for key in (run.metric, f'{run.metric}_std'))
            kind = 'ours, reduced' if run.shortfalls else 'ours'
            _dot(axis, len(labels) + 0.4 * (i + 1) / (len(ours) + 1), mean, std, kind)
        labels.append(model)
    axis.set_yticks(range(len(labels)), labels)
    axis.set_ylim(len(labels) - 0.4, -0.6)
    axis.set_title(experiment.name)
    axis.grid(axis='x', alpha=0.3)
    if experiment.table == 'counting':
        axis.set_xscale('log')


def _dot(axis: Axes, height: float, mean: float, std: float | None, kind: str) -> None:
    axis.errorbar(mean, height, xerr=std, fmt='o', color=_COLOURS[kind], capsize=3)
