"""Tables and plots of what has been run."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from graphgym_nc.results.aggregate import Stats, read_stats
from graphgym_nc.results.sweep import grid_runs
from graphgym_nc.utils.render import save_figure


@dataclass(frozen=True)
class Run:
    """The results of one configuration, of all its seeds.

    Attributes:
        folder: The folder of the configuration.
        best: The statistics of each split that are to be reported: see
            :attr:`graphgym_nc.results.aggregate.Aggregate.reported`.
    """

    folder: Path
    best: dict[str, Stats]

    @staticmethod
    def load(folder: Path) -> 'Run':
        """Reads the aggregated results in a folder.

        Raises:
            FileNotFoundError: If there are none.
        """
        tested = (folder / 'agg' / 'test' / 'best.json').exists()
        name = 'best.json' if tested else 'bestepoch.json'
        paths = {path.parent.name: path for path in (folder / 'agg').glob(f'*/{name}')}
        if 'val' not in paths:
            raise FileNotFoundError(f"there are no aggregated results in '{folder}'")
        return Run(folder, {split: json.loads(p.read_text()) for split, p in paths.items()})

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def task(self) -> str:
        """What the run is to be compared on, *i.e.* its name without the model."""
        return self.name.partition('_')[2]

    @property
    def metric(self) -> str:
        return self.best['val']['metric']

    def curves(self, split: str) -> list[list[Stats]]:
        """The statistics of every epoch, for each seed that counts."""
        seeds = self.best['val']['seed_folders']
        return [read_stats(self.folder / str(seed) / split / 'stats.json') for seed in seeds]


def table(runs: Sequence[Run]) -> pd.DataFrame:
    """One row for each run: test and validation as they are to be reported, what it
    took, and what it was measured on.
    """
    rows = []
    for run in runs:
        best, metric = run.best, run.metric
        train = [row for curve in run.curves('train') for row in curve]
        rows.append(
            {
                'run': run.name,
                'metric': metric,
                'test': _with_std(best.get('test', {}), metric),
                'val': _with_std(best['val'], metric),
                'seeds': best['val']['seeds'],
                'epochs': max(row['epoch'] for row in train) + 1,
                's/epoch': round(float(np.mean([row['time_epoch'] for row in train])), 1),
                'parameters': int(best['val']['params']),
                'data': best['val']['data_source'],
            }
        )
    return pd.DataFrame(rows)


def load_grid(folder: Path) -> list[tuple[Run, dict[str, Any]]]:
    """The runs of a grid that have been aggregated, and what was chosen for
    each.

    Raises:
        FileNotFoundError: If there are none.
    """
    runs = [
        (Run.load(folder / name), entry.values)
        for name, entry in grid_runs(folder).items()
        if (folder / name / 'agg' / 'val' / 'best.json').exists()
    ]
    if not runs:
        raise FileNotFoundError(f"there are no aggregated results in '{folder}'")
    return runs


def grid_table(runs: Sequence[tuple[Run, dict[str, Any]]]) -> pd.DataFrame:
    """The table of a grid, best on validation first, with a column for each
    dimension that varies instead of names.
    """
    runs = sorted(runs, key=lambda pair: -score(pair[0]))
    chosen = pd.DataFrame([{a: str(v) for a, v in values.items()} for _, values in runs])
    varying = [alias for alias in chosen if chosen[alias].nunique(dropna=False) > 1]
    frame = table([run for run, _ in runs])
    if not varying:
        return frame
    return pd.concat([chosen[varying].fillna('-'), frame.drop(columns='run')], axis=1)


def score(run: Run) -> float:
    """The metric on validation, such that more is better."""
    best = run.best['val']
    return -best[run.metric] if best['minimise'] else best[run.metric]


def plot_curves(runs: Sequence[Run], path: Path) -> None:
    """Draws the learning curves of runs, those of one task side by side: on test
    or, if there is none, on validation.

    A line is the mean over seeds, a band reaches from the worst seed to the
    best, and a dot marks the epoch that is reported.
    """
    tasks = list(dict.fromkeys(run.task for run in runs))
    figure = Figure(figsize=(5.2 * len(tasks), 3.8), layout='constrained')
    for i, task in enumerate(tasks, start=1):
        axis: Any = figure.add_subplot(1, len(tasks), i)
        for run in (run for run in runs if run.task == task):
            split = 'test' if 'test' in run.best else 'val'
            # Seeds that stopped early end where they do; a mean needs all of them.
            rows = [{row['epoch']: row[run.metric] for row in c} for c in run.curves(split)]
            shared = sorted(set.intersection(*(set(row) for row in rows)))
            epochs = np.array(shared) + 1
            values = np.array([[row[epoch] for epoch in shared] for row in rows])
            (line,) = axis.plot(epochs, values.mean(axis=0), label=run.name)
            axis.fill_between(epochs, values.min(axis=0), values.max(axis=0), alpha=0.2)
            best = run.best[split]
            axis.plot(best['epoch'] + 1, best[run.metric], 'o', color=line.get_color())
            axis.set_ylabel(f'{split} {run.metric}')
            if best['minimise']:
                axis.set_yscale('log')
        axis.set_title(task)
        axis.set_xlabel('epoch')
        axis.xaxis.get_major_locator().set_params(integer=True)
        axis.grid(alpha=0.3)
        axis.legend()
    save_figure(figure, path)


def _with_std(stats: Stats, metric: str) -> str:
    if metric not in stats:
        return '-'
    if stats['seeds'] == 1:
        return f'{stats[metric]:.4f}'
    return f'{stats[metric]:.4f} ± {stats[f"{metric}_std"]:.4f}'
