"""Tables and plots of what has been run."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd

from graphgym_nc.agg import Stats, read_stats, seed_folders

mpl.use('Agg')
import matplotlib.pyplot as plt


@dataclass(frozen=True)
class Run:
    """The results of one configuration, of all its seeds.

    Attributes:
        folder: The folder of the configuration.
        best: The statistics of each split, at the best validation epoch.
    """

    folder: Path
    best: dict[str, Stats]

    @staticmethod
    def load(folder: Path) -> 'Run':
        """Reads the aggregated results in a folder.

        Raises:
            FileNotFoundError: If there are none.
        """
        paths = {path.parent.name: path for path in (folder / 'agg').glob('*/best.json')}
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
        """The statistics of every epoch, for each seed."""
        return [read_stats(f / split / 'stats.json') for f in seed_folders(self.folder)]


def table(runs: Sequence[Run]) -> pd.DataFrame:
    """One row for each run: test and validation at the best validation epoch,
    what it took, and what it was measured on.
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


def markdown(frame: pd.DataFrame) -> str:
    """A table in Markdown that is also legible as plain text."""
    cells = [list(frame.columns), *frame.astype(str).to_numpy().tolist()]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    header, *rows = (
        ' | '.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        for row in cells
    )
    rule = '-|-'.join('-' * width for width in widths)
    return '\n'.join(f'| {line} |' for line in (header, rule, *rows))


def plot_curves(runs: Sequence[Run], path: Path, split: str = 'test') -> None:
    """Draws the learning curves of runs, those of one task side by side.

    A line is the mean over seeds, a band reaches from the worst seed to the
    best, and a dot marks the epoch that is reported.
    """
    tasks = list(dict.fromkeys(run.task for run in runs))
    figure, axes = plt.subplots(
        1, len(tasks), figsize=(5.2 * len(tasks), 3.8), squeeze=False, layout='constrained'
    )
    for axis, task in zip(axes[0], tasks, strict=True):
        for run in (run for run in runs if run.task == task):
            curves = run.curves(split)
            epochs = np.array([row['epoch'] + 1 for row in curves[0]])
            values = np.array([[row[run.metric] for row in curve] for curve in curves])
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
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def _with_std(stats: Stats, metric: str) -> str:
    if metric not in stats:
        return '-'
    if stats['seeds'] == 1:
        return f'{stats[metric]:.4f}'
    return f'{stats[metric]:.4f} ± {stats[f"{metric}_std"]:.4f}'
