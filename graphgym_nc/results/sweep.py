"""Gathers the results of a sweep: tables in GraphGym's format."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from graphgym_nc.results.aggregate import (
    AggError,
    Aggregate,
    Stats,
    aggregate,
    countable_runs,
    seed_folders,
    write_aggregate,
)
from graphgym_nc.results.manifest import Entry, read_manifest
from graphgym_nc.results.names import choices, sort_key
from graphgym_nc.results.record import read_record, run_status
from graphgym_nc.utils.files import write_atomically
from graphgym_nc.utils.split_names import SPLITS

#: What GraphGym leaves out of its tables, and what is for other readers.
_LEFT_OUT = ('lr', 'lr_std', 'eta', 'eta_std', 'params_std', 'seed_folders')


@dataclass(frozen=True)
class Incomplete:
    """A run that went into no average.

    Attributes:
        run: The name of its configuration.
        seed: Its seed, if it is about one.
        status: Its status.
        reason: Why, as far as it is known.
    """

    run: str
    seed: int | None
    status: str
    reason: str

    def __str__(self) -> str:
        name = self.run if self.seed is None else f'{self.run}/{self.seed}'
        return f'{name}: {self.status}' + (f' ({self.reason})' if self.reason else '')


def grid_runs(folder: Path) -> dict[str, Entry]:
    """The configurations of a sweep by name: those that were to be run, and
    those of which there are results.
    """
    entries = read_manifest(folder)
    for path in sorted(folder.iterdir()):
        seeds = [int(run.name) for run in seed_folders(path)] if path.is_dir() else []
        if seeds:
            known = entries.get(path.name, Entry(choices(path.name), []))
            entries[path.name] = Entry(known.values, sorted({*known.seeds, *seeds}))
    return entries


def agg_sweep(
    folder: Path, metric: str | None = None, minimise: bool | None = None
) -> list[Incomplete]:
    """Aggregates all configurations of a sweep.

    Writes :obj:`agg/<split>.csv` (every seed at its last epoch),
    :obj:`agg/<split>_best.csv` (every seed at its own best validation epoch)
    and :obj:`agg/<split>_bestepoch.csv` (all seeds at the epoch at which their
    mean is best on validation), and what :meth:`~graphgym_nc.results.aggregate.write_aggregate`
    writes for each configuration. What is not DONE is listed in
    :obj:`agg/incomplete.csv`.

    Args:
        folder: The folder of the sweep, with one folder for each configuration.
        metric: Another metric than the recorded one to choose epochs by.
        minimise: Whether less of it is better.

    Returns:
        All runs that did not go in.

    Raises:
        AggError: If there is nothing to aggregate, or nothing that can be; tables of before are
            then left as they are.
    """
    runs = grid_runs(folder)
    if not runs:
        raise AggError(f"there are no results in '{folder}'")
    incomplete: list[Incomplete] = []
    done: list[tuple[dict[str, Any], Aggregate]] = []
    for name, entry in runs.items():
        incomplete += incomplete_seeds(folder / name, entry.seeds, trusted=metric is not None)
        if not (folder / name).is_dir() or not countable_runs(folder / name, metric is not None):
            continue
        try:
            result = aggregate(folder / name, metric, minimise)
            write_aggregate(folder / name, result)
            done.append((entry.values, result))
        except AggError as error:
            reason = str(error)
            incomplete.append(Incomplete(name, None, 'NOT AGGREGATED', reason))
    if not done and any(run.status == 'NOT AGGREGATED' for run in incomplete):
        raise AggError(f"none of the results in '{folder}' could be aggregated: {reason}")

    out = folder / 'agg'
    out.mkdir(exist_ok=True)
    done.sort(key=lambda pair: [sort_key(value) for value in pair[0].values()])
    for split in SPLITS:
        for suffix, kind in (('', 'last'), ('_best', 'best'), ('_bestepoch', 'best_epoch')):
            rows = [(values, getattr(result, kind).get(split)) for values, result in done]
            path = out / f'{split}{suffix}.csv'
            _write_table(path, (_row(values, stats) for values, stats in rows if stats))
    _write_table(out / 'incomplete.csv', (vars(run) for run in incomplete))
    return incomplete


def incomplete_seeds(out_dir: Path, seeds: Iterable[int], trusted: bool) -> list[Incomplete]:
    """The seeds of a configuration that are not DONE, and why."""
    allowed = {'DONE', 'UNKNOWN'} if trusted else {'DONE'}
    result = []
    for seed in seeds:
        status = run_status(out_dir / str(seed))
        if status not in allowed:
            reason = str(read_record(out_dir / str(seed)).get('reason') or '')
            result.append(Incomplete(out_dir.name, seed, status, reason))
    return result


def _row(values: dict[str, Any], stats: Stats) -> Stats:
    return {**values, **{key: value for key, value in stats.items() if key not in _LEFT_OUT}}


def _write_table(path: Path, rows: Iterable[Stats]) -> None:
    frame = pd.DataFrame(list(rows))
    if frame.empty:
        path.unlink(missing_ok=True)  # that of an earlier aggregation
    else:
        write_atomically(path, frame.to_csv(index=False, float_format='%.10g'))
