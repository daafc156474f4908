"""Gathers the results of several seeds: the layout is GraphGym's."""

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphgym_nc.results.differences import differing
from graphgym_nc.results.record import read_record, run_status
from graphgym_nc.utils.files import write_atomically
from graphgym_nc.utils.split_names import SPLITS

Stats = dict[str, Any]

#: Metrics of which less is better.
_ERRORS = frozenset({'loss', 'mae', 'mse', 'rmse'})


class AggError(ValueError):
    """Results that have no average."""


@dataclass(frozen=True)
class Aggregate:
    """The results of a configuration, of all its seeds.

    Attributes:
        best: For each split, every seed at its own best validation epoch.
        last: For each split, every seed at its own last epoch.
        curve: For each split, the mean of all epochs that every seed has.
        best_epoch: For each split, the epoch at which the mean validation
            curve is best.
    """

    best: dict[str, Stats]
    last: dict[str, Stats]
    curve: dict[str, list[Stats]]
    best_epoch: dict[str, Stats]

    @property
    def reported(self) -> dict[str, Stats]:
        """What to report: every seed at its own best validation epoch. Without a test,
        as on folds, all of them at the same epoch: validation that may choose its own
        each time would come out too well.
        """
        return self.best if 'test' in self.best else self.best_epoch


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
    """The epoch with the best value of a metric, the earliest of several.

    Raises:
        AggError: If there is no epoch with a value.
    """
    sign = -1 if minimise else 1
    rows = [row for row in stats if not math.isnan(row.get(metric, math.nan))]
    if not rows:
        raise AggError(f"there is no value of '{metric}' on validation")
    return max(rows, key=lambda row: (sign * row[metric], -row['epoch']))['epoch']


def seed_folders(out_dir: Path) -> list[Path]:
    """The folders of all seeds, by number."""
    folders = (path for path in out_dir.iterdir() if path.name.isdigit() and path.is_dir())
    return sorted(folders, key=lambda path: int(path.name))


def read_run(run_dir: Path) -> dict[str, dict[int, Stats]]:
    """The statistics of all splits and epochs of a run.

    Raises:
        AggError: If there is no validation.
    """
    stats = {
        split: {row['epoch']: row for row in read_stats(run_dir / split / 'stats.json')}
        for split in SPLITS
        if (run_dir / split / 'stats.json').exists()
    }
    if not stats.get('val'):
        raise AggError(f"there is no validation in '{run_dir}'")
    return stats


def mean_and_std(rows: Sequence[Stats]) -> Stats:
    """Mean and (population) standard deviation of every number that all rows
    have.
    """
    result: Stats = {}
    for key in rows[0]:
        values = [row[key] for row in rows if isinstance(row.get(key), (int, float))]
        if len(values) == len(rows):
            mean = math.fsum(values) / len(values)
            result[key] = mean
            result[f'{key}_std'] = math.sqrt(
                math.fsum((v - mean) ** 2 for v in values) / len(values)
            )
    return result


def mean_curve(runs: Sequence[dict[int, Stats]]) -> list[Stats]:
    """The mean over seeds of every epoch that all of them have.

    Seeds that stopped early end the curve: a mean of those that are left would
    be one of other seeds.
    """
    epochs = sorted(set.intersection(*(set(run) for run in runs)))
    rows = ({**mean_and_std([run[epoch] for run in runs]), 'epoch': epoch} for epoch in epochs)
    return [{key: value for key, value in row.items() if key != 'epoch_std'} for row in rows]


def countable_runs(out_dir: Path, trusted: bool = False) -> list[Path]:
    """The folders of all seeds that are DONE.

    Args:
        out_dir: The folder of the configuration.
        trusted: Whether results without a record, such as those of another
            program, count as well.
    """
    allowed = {'DONE', 'UNKNOWN'} if trusted else {'DONE'}
    return [run for run in seed_folders(out_dir) if run_status(run) in allowed]


def aggregate(out_dir: Path, metric: str | None = None, minimise: bool | None = None) -> Aggregate:
    """Gathers the seeds of one configuration that are DONE.

    Metric, direction and source of the data are those that the runs recorded,
    unless given. If the metric is given, runs without a record count as well.

    Args:
        out_dir: The folder that holds one folder for each seed.
        metric: The metric that chooses the epoch, on validation.
        minimise: Whether less of it is better.

    Raises:
        AggError: If no seed is DONE, or if they do not belong together.
    """
    runs = countable_runs(out_dir, trusted=metric is not None)
    if not runs:
        raise AggError(f"no seed is DONE in '{out_dir}'")
    if metric is None:
        metric = str(_agreed(runs, 'metric'))
        minimise = bool(_agreed(runs, 'minimise')) if minimise is None else minimise
    elif minimise is None:
        minimise = less_is_better(metric, 'argmax')
    _refuse_other_configs(runs)

    stats = [read_run(run) for run in runs]
    splits = [split for split in SPLITS if all(split in run for run in stats)]
    epochs = [best_epoch(run['val'].values(), metric, minimise) for run in stats]
    note = {
        'seeds': len(runs),
        'seed_folders': [int(run.name) for run in runs],
        'metric': metric,
        'minimise': minimise,
        'data_source': str(_agreed(runs, 'data_source')),
    }

    def of(split: str, at: Iterable[int]) -> Stats:
        rows = [run[split][epoch] for run, epoch in zip(stats, at, strict=True)]
        return {**mean_and_std(rows), **note}

    curve = {split: mean_curve([run[split] for run in stats]) for split in splits}
    common = best_epoch(curve['val'], metric, minimise)
    return Aggregate(
        best={split: of(split, epochs) for split in splits},
        last={split: of(split, [max(run[split]) for run in stats]) for split in splits},
        curve=curve,
        best_epoch={split: of(split, [common] * len(stats)) for split in splits},
    )


def agg_runs(
    out_dir: Path, metric: str | None = None, minimise: bool | None = None
) -> dict[str, Stats]:
    """Aggregates the seeds of one configuration, and writes what comes out.

    It is :meth:`aggregate`, then :meth:`write_aggregate`.

    Returns:
        For each split, the mean of every seed at its own best validation epoch.
    """
    result = aggregate(out_dir, metric, minimise)
    write_aggregate(out_dir, result)
    return result.best


def write_aggregate(out_dir: Path, result: Aggregate) -> None:
    """Writes :obj:`agg/<split>/best.json`, :obj:`agg/<split>/bestepoch.json` and
    :obj:`agg/<split>/stats.json` for all splits, test among them.
    """
    for split, stats in result.best.items():
        folder = out_dir / 'agg' / split
        write_atomically(folder / 'best.json', json.dumps(stats) + '\n')
        write_atomically(folder / 'bestepoch.json', json.dumps(result.best_epoch[split]) + '\n')
        lines = (json.dumps(row) + '\n' for row in result.curve[split])
        write_atomically(folder / 'stats.json', ''.join(lines))


def _refuse_other_configs(runs: Sequence[Path]) -> None:
    """Seeds differ if an --overwrite with other keys was interrupted between two of them."""
    records = [read_record(run) for run in runs]
    configs = [record['config'] for record in records if 'config' in record]  # newer runs do
    for config in configs[1:]:
        keys = ', '.join(differing(configs[0], config))
        if keys:
            raise AggError(
                f"the seeds in '{runs[0].parent}' differ in their configuration ({keys}); run all "
                f'of them again with --overwrite'
            )


def _agreed(runs: Sequence[Path], key: str) -> Any:
    """What all runs recorded.

    Raises:
        AggError: If they differ, and so cannot be averaged.
    """
    values = {json.dumps(read_record(run).get(key)) for run in runs}
    if len(values) > 1:
        raise AggError(f"the seeds in '{runs[0].parent}' differ in '{key}': {sorted(values)}")
    value = json.loads(values.pop())
    return 'unknown' if value is None else value
