"""Runs that belong to an experiment of the paper, and how much of it they are."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from graphgym_nc.reports.paper.published import CYCLES, EXPERIMENTS, Experiment, Result
from graphgym_nc.results.aggregate import (
    AggError,
    Aggregate,
    Stats,
    aggregate,
    countable_runs,
    read_stats,
)
from graphgym_nc.results.record import read_record

_MODELS = {
    'ncgnnconv': 'NC-GNN', 'ncgnneconv': 'NC-GNN', 'nc_ginconv': 'GIN', 'nc_gineconv': 'GIN',
    'ginconv': 'GIN',
}  # fmt: skip

#: The metric of each table.
METRICS = {
    'tu': 'accuracy', 'sparse': 'accuracy', 'ppa': 'accuracy_ogb', 'sbm': 'accuracy_sbm',
    'counting': 'mae',
}  # fmt: skip

# The paper's layer, as far as it is not GIN's.
_LAYER = {
    'mlp2_layers': 0, 'communicate_scale': 1.0, 'communicate_aggr': 'add',
    'communicate_log': False,
}  # fmt: skip

# Tables whose figures are those of the held-out folds.
_FOLDS = ('tu', 'sparse')


@dataclass(frozen=True)
class PaperRun:
    """What has been run of an experiment of the paper, over all folds or seeds.

    Attributes:
        folder: The folder of the configuration.
        name: The same, as seen from the folder of results.
        config: The configuration.
        record: What the first fold or seed recorded.
        experiment: The experiment.
        model: The model, as the paper names it.
        options: Options that the paper does not have.
        result: The results.
        train: The statistics of all epochs of training, of all folds or seeds.
    """

    folder: Path
    name: str
    config: dict[str, Any]
    record: dict[str, Any]
    experiment: Experiment
    model: str
    options: str
    result: Aggregate
    train: list[list[Stats]]

    @property
    def published(self) -> Result | None:
        return self.experiment.results.get(self.model)

    @property
    def stats(self) -> Stats:
        """The figures to report.

        On TU data sets, all folds at the epoch at which their mean is best;
        elsewhere, the test of every seed at its own best validation epoch.
        """
        if self.experiment.table in _FOLDS:
            return self.result.best_epoch['val']
        return self.result.best['test']

    @property
    def metric(self) -> str:
        return METRICS[self.experiment.table]

    @property
    def epochs(self) -> int:
        """The epochs that every fold or seed has run."""
        return min(rows[-1]['epoch'] + 1 for rows in self.train)

    @property
    def graphs(self) -> int | None:
        """The number of graphs, if it is known."""
        if 'graphs' in self.record:
            return int(self.record['graphs'])
        nc, table = self.config['nc'], self.experiment.table
        if table == 'counting':
            return int(nc['counting_graphs'])
        if table == 'sbm' and nc['sbm_graphs']:
            return sum(nc['sbm_graphs'])
        return None if table == 'ppa' else self.experiment.graphs

    @property
    def shortfalls(self) -> list[str]:
        """All in which the run is less than, or other than, the paper's."""
        paper, result = self.experiment, []
        if self.epochs < paper.epochs:
            result.append(f'{self.epochs} of {paper.epochs} epochs')
        if self.graphs is None:
            result.append('an unknown number of graphs')
        elif self.graphs != paper.graphs:
            result.append(f'{self.graphs} of {paper.graphs} graphs')
        kind = 'folds' if paper.table in _FOLDS else 'seeds'
        if self.stats['seeds'] < paper.runs:
            result.append(f'{self.stats["seeds"]} of {paper.runs} {kind}')
        mode = self.config['dataset']['split_mode']
        if paper.table in _FOLDS and mode != f'cv-stratified-{paper.runs}':
            result.append(f"split_mode '{mode}'")
        if self.stats['metric'] != self.metric:
            result.append(f'epoch chosen by {self.stats["metric"]}')
        if paper.table == 'ppa' and self.record.get('data_source') != 'OGB':
            result.append("data other than OGB's")
        return result

    @property
    def scale(self) -> str:
        """:obj:`"full"`, or what is missing, and whether the graphs are others."""
        text = f'reduced ({", ".join(self.shortfalls)})' if self.shortfalls else 'full'
        generated = str(self.stats['data_source']).startswith('generated')
        return f'{text}, generated graphs' if generated else text


def find_runs(results: Path) -> tuple[list[PaperRun], list[str]]:
    """Looks for runs of the paper's experiments, whatever their folders are
    called.

    Args:
        results: A folder with folders of configurations, or of grids.

    Returns:
        The runs, and why other folders are not among them.
    """
    runs, others = [], []
    for folder in _run_folders(results):
        name = str(folder.relative_to(results))
        try:
            runs.append(_load(folder, name))
        except AggError as error:
            others.append(f'{name}: {error}')
    runs.sort(key=lambda run: EXPERIMENTS.index(run.experiment))
    return runs, others


def _run_folders(results: Path) -> Iterator[Path]:
    for path in sorted(results.rglob('config.yaml')):
        if any(child.name.isdigit() for child in path.parent.iterdir()):
            yield path.parent


def _load(folder: Path, name: str) -> PaperRun:
    """Reads a run.

    Raises:
        AggError: If it is none of the paper's, or there is nothing to report.
    """
    config = yaml.safe_load((folder / 'config.yaml').read_text())
    if not isinstance(config, dict) or not {'dataset', 'gnn', 'nc'} <= config.keys():
        raise AggError("'config.yaml' is no configuration of this package")
    model = _model(config)
    result = aggregate(folder)
    runs = countable_runs(folder)
    train = [read_stats(run / 'train' / 'stats.json') for run in runs]
    experiment = _experiment(config, train[0][-1]['params'])
    run = PaperRun(
        folder,
        name,
        config,
        read_record(runs[0]),
        experiment,
        model,
        _options(config, experiment),
        result,
        train,
    )
    split = 'val' if experiment.table in _FOLDS else 'test'
    if run.metric not in result.best.get(split, {}):
        raise AggError(f"there is no '{run.metric}' of {split}, which the paper reports")
    return run


def _model(config: dict[str, Any]) -> str:
    layer = config['gnn']['layer_type']
    if layer not in _MODELS:
        raise AggError(f"'gnn.layer_type: {layer}' is no model of the paper's tables")
    cycles = config['dataset']['transform'] == 'AddTriangleCount'
    return CYCLES.replace('GIN', _MODELS[layer]) if cycles else _MODELS[layer]


def _options(config: dict[str, Any], paper: Experiment) -> str:
    given = {
        'optim.scheduler': (config['optim']['scheduler'], paper.scheduler),
        'optim.base_lr': (config['optim']['base_lr'], paper.rate),
        'train.batch_size': (config['train']['batch_size'], paper.batch_size),
        'nc.mlp_act_first': (config['nc'].get('mlp_act_first', False), False),
    }
    if not _model(config).startswith('GIN'):
        given |= {
            f'nc.{key}': (config['nc'].get(key, theirs), theirs) for key, theirs in _LAYER.items()
        }
    return ', '.join(f'{key} {ours}' for key, (ours, theirs) in given.items() if ours != theirs)


def _experiment(config: dict[str, Any], params: int) -> Experiment:
    """The experiment with this data set, as deep, and of the nearest size."""
    name = config['dataset']['name']
    name = name.replace('_', '-') if name.startswith('ogbg') else name
    layers = config['gnn']['layers_mp']
    candidates = [e for e in EXPERIMENTS if e.dataset == name and e.layers in (None, layers)]
    if not candidates:
        raise AggError(f'the paper has no {name} with {layers} layers')
    return min(candidates, key=lambda e: max(r := params / (1000 * (e.budget or 1)), 1 / r))
