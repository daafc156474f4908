"""Reads folders of runs into rows that can be kept."""

import json
import re
import statistics
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from graphgym_nc.reports.paper.kept import RUN, Curve, Row
from graphgym_nc.reports.paper.runs import METRICS, find_experiment
from graphgym_nc.results.aggregate import (
    AggError,
    Aggregate,
    Stats,
    aggregate,
    best_epoch,
    countable_runs,
    read_run,
)
from graphgym_nc.results.differences import differing, flat
from graphgym_nc.results.record import read_record
from graphgym_nc.utils.packaged import packaged, packaged_names

_POINTS = 40  # of a learning curve: enough for a small plot


def keep_runs(folders: Iterable[Path]) -> tuple[list[Row], list[Curve], list[str]]:
    """Reads all runs of the paper's experiments in some folders.

    Args:
        folders: Folders of configurations, or folders with such folders at any depth.

    Returns:
        A row for each fold or seed that is DONE, the learning curves, and why other folders are
        not among them.

    Raises:
        ValueError: If two folders have the same configuration with the same keys.
    """
    known: dict[tuple[str, str], Path] = {}
    rows: list[Row] = []
    curves: list[Curve] = []
    others = []
    for folder in (path for top in folders for path in _run_folders(top)):
        try:
            kept, mean = _keep(folder)
        except AggError as error:
            others.append(f'{folder}: {error}')
            continue
        run = kept[0].config, kept[0].changes
        if not known.setdefault(run, folder).samefile(folder):
            raise ValueError(
                f"'{known[run]}' and '{folder}' have the same configuration and keys, and "
                'their seeds do not mix: name one of them'
            )
        rows += kept
        curves += mean
    return rows, curves, others


def _run_folders(top: Path) -> Iterator[Path]:
    for path in sorted(top.rglob('config.yaml')):
        if any(child.name.isdigit() for child in path.parent.iterdir()):
            yield path.parent


def _keep(folder: Path) -> tuple[list[Row], list[Curve]]:
    """Reads a configuration.

    Raises:
        AggError: If it is none of the paper's, or there is nothing to report.
    """
    name = folder.name.partition('-')[0]  # what follows is what a grid chose
    if name not in packaged_names('configs'):
        raise AggError(f"'{name}' is no configuration of the package")
    config = yaml.safe_load((folder / 'config.yaml').read_text())
    if not isinstance(config, dict) or not {'dataset', 'gnn', 'nc'} <= config.keys():
        raise AggError("'config.yaml' is no configuration of this package")
    result = aggregate(folder)
    runs = countable_runs(folder)
    changes = changed_keys(name, flat(config), read_record(runs[0]))
    experiment = find_experiment(name, changes)
    metric = str(result.best['val']['metric'])
    if metric != METRICS[experiment.table]:
        raise AggError(f"its epochs are chosen by '{metric}', not '{METRICS[experiment.table]}'")
    rows = [_row(folder / run.name, name, changes, config, result) for run in runs]
    curves = [
        _curve(name, changes, split, metric, len(runs), stats)
        for split, stats in result.curve.items()
    ]
    return rows, curves


def changed_keys(name: str, config: dict[str, Any], record: dict[str, Any]) -> str:
    """The keys that differ from a packaged configuration, with their values.

    Args:
        name: The packaged configuration.
        config: All keys of the run.
        record: Its record, which tells the keys that differ from the defaults.
    """
    base = flat(yaml.safe_load(packaged('configs', name).read_text()))
    base.setdefault('gnn.head', base.get('dataset.task', 'node'))  # as GraphGym fills it in
    now = {**record.get('config', {}), **{key: config.get(key) for key in base}}
    changed = {key: value for key, (_, value) in differing(base, now).items()}
    if 'dataset.name' in changed:
        raise AggError(f"its data are '{changed['dataset.name']}', not those of '{name}'")
    return ' '.join(f'{key} {str(value).replace(" ", "")}' for key, value in changed.items())


def _row(run: Path, name: str, changes: str, config: dict[str, Any], result: Aggregate) -> Row:
    stats, record = read_run(run), read_record(run)
    metric, minimise = result.best['val']['metric'], result.best['val']['minimise']
    train = list(stats['train'].values())
    own = best_epoch(stats['val'].values(), metric, minimise)
    shared = int(result.best_epoch['val']['epoch'])
    path = run.parent / 'cost.json'
    cost = json.loads(path.read_text()) if path.exists() else {}

    def at(split: str, epoch: int) -> float | None:
        return stats[split][epoch][metric] if split in result.best else None

    return Row(
        kind=RUN,
        config=name,
        changes=changes,
        run=int(run.name),
        runs=1,
        metric=metric,
        epoch=own + 1,
        val=at('val', own),
        test=at('test', own),
        shared_epoch=shared + 1,
        shared_val=at('val', shared),
        shared_test=at('test', shared),
        std=None,
        epochs=train[-1]['epoch'] + 1,
        planned=config['optim']['max_epoch'],
        graphs=record.get('graphs'),
        source=str(record.get('data_source', '')),
        parameters=train[-1]['params'],
        seconds=round(statistics.median(row['time_epoch'] for row in train), 4),
        memory_mb=max((row['memory_mb'] for row in train if 'memory_mb' in row), default=None),
        mmacs=round(cost['macs_per_graph'] / 1e6, 4) if cost else None,
        inference_ms=round(1e3 * cost['seconds'] / cost['graphs'], 4) if cost else None,
        commit=str(record.get('commit') or ''),
        date=str(record.get('ended') or '')[:10],
        machine=_machine(record.get('machine', {})),
    )


def _curve(
    name: str, changes: str, split: str, metric: str, runs: int, stats: list[Stats]
) -> Curve:
    chosen = np.unique(np.linspace(0, len(stats) - 1, _POINTS).round().astype(int))
    rows = [stats[i] for i in chosen if metric in stats[i]]
    epochs = ' '.join(str(row['epoch'] + 1) for row in rows)
    return Curve(
        name, changes, split, runs, epochs, ' '.join(f'{row[metric]:.4g}' for row in rows)
    )


def _machine(known: dict[str, Any]) -> str:
    """The kind of a machine."""
    if known.get('gpus'):
        return ', '.join(known['gpus'])
    kind = re.search(r'x86_64|aarch64|arm64', str(known.get('system')))
    threads = f'{known.get("threads", "?")} of {known.get("cpus", "?")} cores'
    return f'{kind[0] if kind else "CPU"}, {threads}'
