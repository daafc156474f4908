"""The paper's tables, with our figures beside the published ones."""

import functools
import math
from collections.abc import Iterable, Sequence

import pandas as pd
import yaml

from graphgym_nc.reports.paper.published import (
    COSTS,
    CYCLES,
    EXPERIMENTS,
    RELATIVE_TIME,
    Experiment,
)
from graphgym_nc.reports.paper.runs import FOLDS, INNER, PaperRun, percent
from graphgym_nc.reports.paper.verdict import verdict
from graphgym_nc.results.differences import flat
from graphgym_nc.utils.packaged import packaged, packaged_names

#: The title of each table, by the name of its grid.
TITLES = {
    'counting': 'Counting triangles: test MAE at the best validation epoch',
    'sbm': 'PATTERN and CLUSTER: test accuracy (%, mean of classes) at the best validation epoch',
    'tu': 'TUDatasets: accuracy (%), ten folds at the epoch that is best on average',
    'sparse': 'MUTAG, PTC and NCI1, with hardly a triangle: accuracy (%), ten folds',
    'ppa': 'ogbg-ppa: test accuracy (%) at the best validation epoch',
}

_DIGITS = {'tu': 1, 'sparse': 1, 'ppa': 2, 'sbm': 2, 'counting': 4, 'targets': 4}

_NOTHING = '-'

# The models that a table has a row of, whether they have been run or not.
_OURS = ('GIN', CYCLES, 'NC-GNN')


def result_table(name: str, runs: Sequence[PaperRun]) -> pd.DataFrame:
    """One row for each run, and for each of our models that there is no run of."""
    rows = []
    for experiment in (e for e in EXPERIMENTS if e.table == name):
        ours = [r for r in fullest(runs) if r.experiment == experiment and r.table == name]
        models = [model for model in _OURS if model in experiment.results]
        for model in dict.fromkeys([*models, *(run.model for run in ours)]):
            matching = [run for run in ours if run.model == model]
            rows += [_row(run) for run in matching] or [_not_run(experiment, model)]
    return pd.DataFrame(rows)


def target_table(runs: Sequence[PaperRun]) -> pd.DataFrame:
    """One row for each subgraph, one column for each configuration: the same graphs for all."""
    regular = [
        run
        for run in fullest(runs)
        if run.experiment.config == 'counting_regular' and not run.changed
    ]
    columns = dict.fromkeys(run.config for run in regular)
    rows = []
    for target in dict.fromkeys(run.experiment.target for run in regular):
        row = {'subgraph': target.replace('_', ' ')} | dict.fromkeys(columns, _NOTHING)
        for run in regular:
            if run.experiment.target == target:
                row[run.config] = figure(run) + (' (reduced run)' if run.shortfalls else '')
        rows.append(row)
    return pd.DataFrame(rows)


def inner_table(runs: Sequence[PaperRun]) -> pd.DataFrame:
    """The variants that were compared on validation cut from the training folds, the best of
    each data set first.
    """
    inner = [run for run in fullest(runs) if run.table == INNER]
    chosen = {id(run): math.fsum(row.val or 0.0 for row in run.rows) for run in inner}
    inner.sort(key=lambda r: (EXPERIMENTS.index(r.experiment), -chosen[id(r)] / len(r.rows)))
    return pd.DataFrame(
        {
            'data': run.experiment.name,
            'configuration': f'`{run.config}`',
            'changes': run.changed or _NOTHING,
            'inner validation, %': f'{100 * chosen[id(run)] / len(run.rows):.1f}',
            'the fold itself, %': figure(run),
            'folds': run.number,
            'epochs': run.epochs,
        }
        for run in inner
    )


def cost_table(runs: Sequence[PaperRun]) -> pd.DataFrame:
    """What NC-GNN costs beside its twin without MLP2, of the same kind of machine."""
    rows = []
    for run in runs:
        other = twin(run, runs, measured=True)
        if run.model != 'NC-GNN' or run.seconds is None or other is None or not other.seconds:
            continue
        first, paper = run.rows[0], COSTS.get((run.experiment.name, run.model))
        rows.append(
            {
                'configurations': f'`{other.config}`, `{run.config}`',
                'graphs': f'{run.graphs:,}' if run.graphs else _NOTHING,
                'epochs': run.epochs,
                's per epoch': f'{other.seconds:.3g}, {run.seconds:.3g}',
                'ratio': f'{run.seconds / other.seconds:.2f}',
                'published ratio': RELATIVE_TIME.get(run.experiment.dataset, _NOTHING),
                'peak MB': _pair(other, run, 'memory_mb', ','),
                'million MACs per graph': _pair(other, run, 'mmacs', '.3g'),
                'published MACs': f'{paper.macs:g}' if paper else _NOTHING,
                'inference, ms per graph': _pair(other, run, 'inference_ms', '.2g'),
                'machine': first.machine,
                'date': first.date,
            }
        )
    return pd.DataFrame(rows)


def twin(run: PaperRun, runs: Iterable[PaperRun], measured: bool = False) -> PaperRun | None:
    """The GIN that a run of NC-GNN is to be compared with: alike but for what GIN has not.

    Args:
        run: The run.
        runs: The runs to look among.
        measured: Whether it has to be of the same kind of machine, too.
    """
    keys = _without_layer(run)
    alike = (
        other
        for other in runs
        if other.config.startswith('gin_')
        and run.model == 'NC-GNN'
        and other.experiment == run.experiment
        and _without_layer(other) == keys
        and (other.graphs, other.summary) == (run.graphs, run.summary)
        and (not measured or other.rows[0].machine == run.rows[0].machine)
    )
    return next(alike, None)


def fullest(runs: Iterable[PaperRun]) -> list[PaperRun]:
    """Of runs that differ in their size alone, the largest that has figures."""
    best: dict[tuple[str, ...], PaperRun] = {}
    for run in runs:
        key = run.config, run.variant, run.training, run.table, run.experiment.name
        if run.values and (key not in best or _size(run) > _size(best[key])):
            best[key] = run
    return list(best.values())


def figure(run: PaperRun) -> str:
    """The figure of a run, as a table has it."""
    table = run.experiment.table
    return _figure(percent(table), run.mean, run.std, _DIGITS[table])


def _row(run: PaperRun) -> dict[str, str]:
    paper = run.experiment
    published = paper.results.get(run.model)
    number = f'{run.number} of {paper.runs}'
    return {
        **_not_run(paper, run.model),
        'configuration': f'`{run.config}`',
        'ours': figure(run),
        'verdict': verdict(run),
        'scale': run.scale,
        run.unit: f'{number}, summary of {run.rows[0].date}' if run.summary else number,
        'epochs': f'{run.epochs} of {paper.epochs}' + ('' if paper.told else ' (not told)'),
        'graphs': (f'{run.graphs:,}' if run.graphs else '?') + f' of {paper.graphs:,}',
        'parameters': f'{run.rows[0].parameters:,}'
        + (f' (paper: {published.params:,})' if published and published.params else ''),
    }


def _not_run(paper: Experiment, model: str) -> dict[str, str]:
    published = paper.results.get(model)
    digits = 3 if paper.table == 'sbm' else _DIGITS[paper.table]
    unit = 'folds' if paper.table in FOLDS else 'seeds'
    row = {'data': paper.name, 'model': model}
    row |= dict.fromkeys(('configuration', 'ours'), _NOTHING)
    row['published'] = _figure(1, published.mean, published.std, digits) if published else '-'
    row |= dict.fromkeys(('verdict', 'scale', unit, 'epochs', 'graphs', 'parameters'), _NOTHING)
    return {**row, 'verdict': 'not run'}


def _without_layer(run: PaperRun) -> dict[str, str]:
    """All keys, but for those of MLP2, the layer's type and the number of graphs."""
    other = ('nc.mlp2_', 'nc.communicate_', 'gnn.layer_type', 'nc.sbm_graphs')
    keys = {**_packaged_keys(run.config), **run.changes}
    return {key: value for key, value in keys.items() if not key.startswith(other)}


@functools.cache
def _packaged_keys(config: str) -> dict[str, str]:
    """The keys of a configuration. One that is not in the package is like itself alone."""
    if config not in packaged_names('configs'):
        return {'config': config}
    keys = flat(yaml.safe_load(packaged('configs', config).read_text()))
    return {key: str(value).replace(' ', '') for key, value in keys.items()}


def _size(run: PaperRun) -> tuple[int, int]:
    return run.epochs * run.number * (run.graphs or 1), not run.summary


def _pair(first: PaperRun, second: PaperRun, name: str, form: str) -> str:
    values = [getattr(run.rows[0], name) for run in (first, second)]
    return ', '.join(_NOTHING if value is None else f'{value:{form}}' for value in values)


def _figure(factor: float, mean: float, std: float | None, digits: int) -> str:
    text = f'{factor * mean:.{digits}f}'
    return text if std is None else f'{text} ± {factor * std:.{digits}f}'
