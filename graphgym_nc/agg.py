"""Gathers the results of several seeds: the layout is GraphGym's."""

import json
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

Stats = dict[str, Any]

SPLITS = ('train', 'val', 'test')

#: Metrics of which less is better.
_ERRORS = frozenset({'loss', 'mae', 'mse', 'rmse'})


def read_stats(path: Path) -> list[Stats]:
    """Reads a :obj:`stats.json`, *i.e.* one JSON object per line and epoch."""
    with open(path) as file:
        return [json.loads(line) for line in file]


def less_is_better(metric: str, metric_agg: str) -> bool:
    """Whether the best epoch is that of the least value.

    Args:
        metric: The metric.
        metric_agg: :obj:`"argmax"` or :obj:`"argmin"`; errors are always to be
            minimised.
    """
    return metric in _ERRORS or metric_agg == 'argmin'


def best_epoch(stats: Iterable[Stats], metric: str, minimise: bool) -> int:
    """The epoch with the best value of a metric, the earliest of several."""
    sign = -1 if minimise else 1
    return max(stats, key=lambda row: (sign * row[metric], -row['epoch']))['epoch']


def seed_folders(out_dir: Path) -> list[Path]:
    """The folders of all seeds, by number."""
    folders = (path for path in out_dir.iterdir() if path.name.isdigit())
    return sorted(folders, key=lambda path: int(path.name))


def best_of_run(run_dir: Path, metric: str, minimise: bool) -> dict[str, Stats]:
    """The statistics of all splits at the epoch that is best on validation."""
    stats = {
        split: {row['epoch']: row for row in read_stats(run_dir / split / 'stats.json')}
        for split in SPLITS
        if (run_dir / split / 'stats.json').exists()
    }
    epoch = best_epoch(stats['val'].values(), metric, minimise)
    return {split: rows[epoch] for split, rows in stats.items()}


def mean_and_std(rows: list[Stats]) -> Stats:
    """Mean and (population) standard deviation of every number."""
    result: Stats = {}
    for key, value in rows[0].items():
        if isinstance(value, (int, float)):
            values = [row[key] for row in rows]
            mean = math.fsum(values) / len(values)
            result[key] = mean
            result[f'{key}_std'] = math.sqrt(
                math.fsum((v - mean) ** 2 for v in values) / len(values)
            )
    return result


def agg_runs(out_dir: Path, metric: str, minimise: bool, source: str) -> dict[str, Stats]:
    """Aggregates the seeds of one configuration.

    Every seed counts at its own best validation epoch. Writes
    :obj:`agg/<split>/best.json` for all splits, test among them.

    Args:
        out_dir: The folder that holds one folder for each seed.
        metric: The metric that chooses the epoch, on validation.
        minimise: Whether less of it is better.
        source: Where the data came from.
    """
    runs = seed_folders(out_dir)
    best = [best_of_run(run, metric, minimise) for run in runs]
    note = {'seeds': len(runs), 'metric': metric, 'minimise': minimise, 'data_source': source}
    result = {}
    for split in best[0]:
        stats = {**mean_and_std([run[split] for run in best]), **note}
        folder = out_dir / 'agg' / split
        folder.mkdir(parents=True, exist_ok=True)
        (folder / 'best.json').write_text(json.dumps(stats) + '\n')
        result[split] = stats
    return result
