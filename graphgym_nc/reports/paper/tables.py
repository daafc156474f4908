"""The paper's tables, with our figures beside the published ones."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from graphgym_nc.reports.paper.published import (
    COSTS,
    EXPERIMENTS,
    RELATIVE_TIME,
    Experiment,
    Result,
)
from graphgym_nc.reports.paper.runs import METRICS, PaperRun

#: The title of each table, by the name of its grid.
TITLES = {
    'tu': 'TUDatasets: accuracy (%), ten folds at the epoch that is best on average',
    'sparse': 'MUTAG, PTC and NCI1, with hardly a triangle: accuracy (%), ten folds',
    'ppa': 'ogbg-ppa: test accuracy (%) at the best validation epoch',
    'sbm': 'PATTERN and CLUSTER: test accuracy (%, mean of classes) at the best validation epoch',
    'counting': 'Counting triangles: test MAE at the best validation epoch',
}

_DIGITS = {'tu': 1, 'sparse': 1, 'ppa': 2, 'sbm': 3, 'counting': 4}

_NOTHING = '-'

_COLUMNS = (
    'data', 'model', 'ours', 'published', 'difference', 'scale', 'options', 'folds or seeds',
    'epochs', 'graphs', 'parameters', 'parameters (paper)', 'source', 'run',
)  # fmt: skip


def result_table(name: str, runs: Sequence[PaperRun]) -> pd.DataFrame:
    """One row for each run, and for each published figure that there is no run
    of.
    """
    rows = []
    for experiment in (e for e in EXPERIMENTS if e.table == name):
        ours = [run for run in runs if run.experiment is experiment]
        models = [*experiment.results, *(run.model for run in ours)]
        for model in dict.fromkeys(models):
            published = experiment.results.get(model)
            matching = [run for run in ours if run.model == model]
            rows += [_row(experiment, model, published, run) for run in matching]
            if not matching:
                rows.append(_row(experiment, model, published, None))
    return pd.DataFrame([{key: row.get(key, _NOTHING) for key in _COLUMNS} for row in rows])


def percent(table: str) -> float:
    """What a metric is multiplied by in a table."""
    return 1 if METRICS[table] == 'mae' else 100


def _row(
    experiment: Experiment, model: str, published: Result | None, run: PaperRun | None
) -> dict[str, str]:
    digits, factor = _DIGITS[experiment.table], percent(experiment.table)
    row = {'data': experiment.name, 'model': model, 'ours': _NOTHING}
    row['published'] = _figure(published.mean, published.std, digits) if published else _NOTHING
    if run is None:
        missing = model in ('GIN', 'NC-GNN') or 'cycle' in model
        return {**row, 'scale': 'not run' if missing else 'published only'}
    mean, std = (factor * run.stats[key] for key in (run.metric, f'{run.metric}_std'))
    row['ours'] = _figure(mean, std if run.stats['seeds'] > 1 else None, digits)
    if published:
        row['difference'] = f'{mean - published.mean:+.{digits}f}'
    return {
        **row,
        'scale': run.scale,
        'options': run.options or _NOTHING,
        'folds or seeds': f'{run.stats["seeds"]} of {experiment.runs}',
        'epochs': f'{run.epochs} of {experiment.epochs}'
        + ('' if experiment.told else ' (ours; the paper does not tell)'),
        'graphs': f'{run.graphs or "?"} of {experiment.graphs}',
        'parameters': f'{int(run.stats["params"]):,}',
        'parameters (paper)': f'{published.params:,}' if published and published.params else '-',
        'source': run.stats['data_source'],
        'run': run.name,
    }


def time_table(runs: Sequence[PaperRun]) -> pd.DataFrame:
    """What every run has cost, on the machine that it was run on, beside the
    paper's figures, which are of a GPU.
    """
    rows = []
    for run in runs:
        experiment, cost = run.experiment, _cost(run)
        factor = relative_time(run, runs)
        graphs = cost.get('graphs')
        theirs = COSTS.get((experiment.name, run.model))
        relative = RELATIVE_TIME.get(experiment.dataset) if run.model == 'NC-GNN' else None
        rows.append(
            {
                'data': experiment.name,
                'model': run.model,
                's/epoch': f'{seconds_per_epoch(run):.4g}',
                'x GIN': f'{factor:.2f}' if factor else _NOTHING,
                'x GIN (paper)': relative or _NOTHING,
                'peak MB': max(row.get('memory_mb', 0) for rows in run.train for row in rows),
                'MMACs/graph': f'{cost["macs_per_graph"] / 1e6:.4g}' if cost else _NOTHING,
                'inference ms/graph': f'{1e3 * cost["seconds"] / graphs:.3f}' if graphs else '-',
                'inference s': f'{cost["seconds"]:.2f} ({graphs} graphs)' if graphs else '-',
                'paper: s/epoch': theirs.epoch if theirs else _NOTHING,
                'paper: GPU MB': theirs.memory if theirs else _NOTHING,
                'paper: MMACs/graph': theirs.macs if theirs else _NOTHING,
                'paper: inference s': theirs.inference if theirs else _NOTHING,
                'parameters': f'{int(run.stats["params"]):,}',
                'graphs': f'{run.graphs or "?"} of {experiment.graphs}',
                'scale': run.scale,
                'options': run.options or _NOTHING,
                'machine': machine(run),
                'run': run.name,
            }
        )
    return pd.DataFrame(rows)


def seconds_per_epoch(run: PaperRun) -> float:
    """The time of an epoch of training, without evaluation: the median over all
    epochs, folds and seeds.
    """
    return float(np.median([row['time_epoch'] for rows in run.train for row in rows]))


def relative_time(run: PaperRun, runs: Sequence[PaperRun]) -> float | None:
    """The time of an epoch as a multiple of GIN's, if it has been run alike."""
    baseline = _baseline(run, runs)
    return seconds_per_epoch(run) / seconds_per_epoch(baseline) if baseline else None


def machine(run: PaperRun) -> str:
    """What a run was run on."""
    known = run.record.get('machine', {})
    gpus = ', '.join(known.get('gpus', []))
    return gpus or f'{known.get("threads", "?")} CPU thread(s)'


def _baseline(run: PaperRun, runs: Sequence[PaperRun]) -> PaperRun | None:
    """GIN on as many of the same graphs, as wide and deep, on a like machine."""

    def conditions(run: PaperRun) -> tuple[Any, ...]:
        gnn = run.config['gnn']
        return (
            run.experiment.name, run.graphs, machine(run), run.config['train']['batch_size'],
            gnn['layers_mp'], gnn['dim_inner'] if run.experiment.table != 'ppa' else None,
        )  # fmt: skip

    alike = [o for o in runs if o.model == 'GIN' and conditions(o) == conditions(run)]

    def unlikeness(other: PaperRun) -> tuple[bool, bool, int]:
        elsewhere = other.folder.parent != run.folder.parent  # perhaps on a busier day
        return other is not run, elsewhere, len(other.shortfalls)

    return min(alike, key=unlikeness, default=None)


def _cost(run: PaperRun) -> dict[str, Any]:
    """What ``graphgym-nc cost`` has measured."""
    path = run.folder / 'cost.json'
    return json.loads(path.read_text()) if path.exists() else {}


def _figure(mean: float, std: float | None, digits: int) -> str:
    return f'{mean:.{digits}f}' + (f' ± {std:.{digits}f}' if std is not None else '')
