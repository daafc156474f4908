"""Runs that belong to an experiment of the paper, and how much of it they are."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from graphgym_nc.reports.paper.kept import SUMMARY, Row
from graphgym_nc.reports.paper.published import CYCLES, EXPERIMENTS, Experiment, Result
from graphgym_nc.results.aggregate import AggError

#: Models by the first part of a configuration's name. Another system needs a line here, and
#: rows; its published figures are in :obj:`EXPERIMENTS`.
MODELS = {
    'gin': 'GIN', 'nc': 'NC-GNN', 'graph_snn': 'GraphSNN', 'nested_gin': 'NGNN',
    'gin_ak': 'GIN-AK', 'gin_ak_plus': 'GIN-AK+', 'kp_gin': 'KP-GIN', 'kp_gin_plus': 'KP-GIN+',
    'kp_gin_prime': "KP-GIN'", 'eb_gnn': 'EB-GNN', 'ppgn': 'PPGN', 'ring_gnn': 'RingGNN',
    'sin': 'SIN', 'cin': 'CIN', 'sat': 'SAT', 'sat_subgraph': 'K-subgraph SAT',
    'k123': '1-2-3-GNN',
}  # fmt: skip

# Experiments of configurations whose names do not tell the size of the paper's networks.
_SIZES_OF_PEERS = {
    'pattern': 'pattern_4l_500k', 'pattern_100k': 'pattern_4l_100k',
    'pattern_500k': 'pattern_4l_500k', 'cluster_100k': 'cluster_4l_100k',
    'cluster_500k': 'cluster_4l_500k',
}  # fmt: skip

#: The GIN of PATTERN and CLUSTER that is NC-GNN without MLP2, width included. The paper quotes
#: a wider one with residual connections, which is in the configurations that end so.
SAME_WIDTH, _RESIDUAL = 'GIN, same width', '_residual'

#: The metric of each table.
METRICS = {
    'tu': 'accuracy', 'sparse': 'accuracy', 'ppa': 'accuracy_ogb', 'sbm': 'accuracy_sbm',
    'counting': 'mae', 'targets': 'mae',
}  # fmt: skip

#: The table of runs that choose between variants, on validation cut from the training folds.
INNER = 'inner'

#: Tables whose figures are those of the held-out folds.
FOLDS = ('tu', 'sparse')

# What says how large a run is, or on what. Tables have columns for it.
_SIZES = ('optim.max_epoch', 'nc.sbm_graphs', 'nc.sbm_source', 'nc.counting_graphs')
_TARGET = 'nc.counting_target'

# Keys of the network. All others are of its training or its data.
_NETWORK = (
    'gnn.', 'model.', 'nc.mlp', 'nc.communicate', 'nc.eps', 'nc.train_eps', 'nc.init',
    'dataset.transform', 'dataset.node_encoder',
)  # fmt: skip


@dataclass(frozen=True)
class PaperRun:
    """What has been run of an experiment of the paper, over all folds or seeds.

    Attributes:
        rows: The folds or seeds, or one summary.
    """

    rows: list[Row]

    @property
    def config(self) -> str:
        return self.rows[0].config

    @property
    def changes(self) -> dict[str, str]:
        """The keys that differ from the packaged configuration."""
        return parse_changes(self.rows[0].changes)

    @property
    def summary(self) -> bool:
        """Whether the figures of single folds or seeds are lost."""
        return self.rows[0].kind == SUMMARY

    @cached_property
    def experiment(self) -> Experiment:
        return find_experiment(self.config, self.rows[0].changes)

    @property
    def table(self) -> str:
        inner = self.changes.get('dataset.split_mode', '').endswith('-inner')
        return INNER if inner else self.experiment.table

    @property
    def model(self) -> str:
        """The model, as the paper names it."""
        prefix = split_name(self.config)[0]
        if prefix == 'gin' and self.config.endswith('_cycles'):
            return CYCLES
        if prefix == 'gin' and self.experiment.table == 'sbm' and not self._residual:
            return SAME_WIDTH
        return MODELS[prefix]

    @property
    def variant(self) -> str:
        """In what the network is not the paper's."""
        rest = split_name(self.config)[1]
        name = rest.removeprefix(self.experiment.config).removesuffix('_cycles')
        name = '' if self._residual else name
        return ', '.join(filter(None, [name.strip('_'), *self._changed(network=True)]))

    @property
    def training(self) -> str:
        """In what the training is not that of the configuration, but for its size."""
        return ', '.join(self._changed(network=False))

    @property
    def changed(self) -> str:
        """All keys that differ from the packaged configuration, but for its size."""
        return ', '.join([*self._changed(network=True), *self._changed(network=False)])

    @property
    def published(self) -> Result | None:
        return self.experiment.results.get(self.model)

    @cached_property
    def values(self) -> list[float]:
        """The figure of each fold or seed.

        On TU data sets, all folds at the epoch at which their mean is best; elsewhere, the
        test of every seed at its own best validation epoch. There are none if only costs
        were kept.
        """
        folds = self.table in FOLDS
        figures = [row.shared_val if folds else row.test for row in self.rows]
        return [figure for figure in figures if figure is not None]

    @property
    def mean(self) -> float:
        return float(np.mean(self.values))

    @property
    def std(self) -> float | None:
        """The deviation of the population; of a single run, there is none."""
        if self.summary:
            return self.rows[0].std
        return float(np.std(self.values)) if len(self.values) > 1 else None

    @property
    def number(self) -> int:
        """The number of folds or seeds."""
        return sum(row.runs for row in self.rows)

    @property
    def epochs(self) -> int:
        """The epochs that every fold or seed has run."""
        return min(row.epochs for row in self.rows)

    @property
    def graphs(self) -> int | None:
        return self.rows[0].graphs

    @property
    def seconds(self) -> float | None:
        """The time of an epoch of training: the median over folds or seeds."""
        known = [row.seconds for row in self.rows if row.seconds is not None]
        return float(np.median(known)) if known else None

    @property
    def shortfalls(self) -> list[str]:
        """All in which the run is less than the paper's."""
        paper, result = self.experiment, []
        if self.epochs < paper.epochs:
            result.append(f'{self.epochs} of {paper.epochs} epochs')
        if self.graphs is None:
            result.append('an unknown number of graphs')
        elif self.graphs != paper.graphs:
            result.append(f'{self.graphs:,} of {paper.graphs:,} graphs')
        if self.number < paper.runs:
            result.append(f'{self.number} of {paper.runs} {self.unit}')
        if self._other_data:
            result.append("data other than OGB's")
        return result

    @property
    def unit(self) -> str:
        return 'folds' if self.experiment.table in FOLDS else 'seeds'

    @property
    def scale(self) -> str:
        """Whether it is full or reduced, and in what graphs, training or network are others."""
        source = self.rows[0].source
        other_graphs = self.experiment.config == 'counting' and source.startswith('the graphs of')
        parts = [
            'reduced' if self.shortfalls else 'full',
            'generated graphs' if source.startswith('generated') else '',
            source if other_graphs else '',
            "data other than OGB's" if self._other_data else '',
            self.training,
            self.variant and f'variant: {self.variant}',
            self.rows[0].note,
        ]
        return ', '.join(filter(None, parts))

    @property
    def _residual(self) -> bool:
        return self.config == f'gin_{self.experiment.config}{_RESIDUAL}'

    @property
    def _other_data(self) -> bool:
        return self.experiment.table == 'ppa' and self.rows[0].source != 'OGB'

    def _changed(self, network: bool) -> list[str]:
        return [
            f'{key} {value}'
            for key, value in self.changes.items()
            if key not in (*_SIZES, _TARGET, 'dataset.split_mode' if self.table == INNER else '')
            and key.startswith(_NETWORK) == network
        ]


def percent(table: str) -> float:
    """What a metric is multiplied by in a table."""
    return 1 if METRICS.get(table) == 'mae' else 100


def parse_changes(text: str) -> dict[str, str]:
    """Keys and values, one after the other, as a dictionary."""
    words = text.split()
    return dict(zip(words[::2], words[1::2], strict=True))


def split_name(config: str) -> tuple[str, str]:
    """The model of a configuration, by its key in :obj:`MODELS`, and its experiment's name.

    Raises:
        AggError: If there is no such model.
    """
    fitting = [key for key in MODELS if config.startswith(f'{key}_')]
    if not fitting:
        raise AggError(f"there is no model that '{config}' could be of")
    key = max(fitting, key=len)
    rest = config.removeprefix(f'{key}_')
    return key, rest if key in ('gin', 'nc') else _SIZES_OF_PEERS.get(rest, rest)


def find_experiment(config: str, changes: str) -> Experiment:
    """The experiment that a configuration belongs to by its name.

    Raises:
        AggError: If the paper has none.
    """
    target = parse_changes(changes).get(_TARGET, 'triangle')
    rest = split_name(config)[1]
    fitting = [
        paper
        for paper in EXPERIMENTS
        if f'{rest}_'.startswith(f'{paper.config}_') and paper.target == target
    ]
    if not fitting:
        raise AggError(f"the paper has no experiment '{rest}'")
    return max(fitting, key=lambda paper: len(paper.config))


def group(rows: Iterable[Row]) -> list[PaperRun]:
    """All runs, in the order of the paper's tables.

    A summary is left out if at least as many folds or seeds have been run anew.

    Raises:
        ValueError: If folds of one run are not at the same epoch.
    """
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.config, row.changes, row.kind), []).append(row)
    runs = [PaperRun(sorted(group, key=lambda row: row.run or 0)) for group in groups.values()]
    for run in runs:
        if run.table in FOLDS and len({row.shared_epoch for row in run.rows}) > 1:
            raise ValueError(
                f"the folds of '{run.config}' ({run.rows[0].changes or 'unchanged'}) are not at "
                'the same epoch: keep the folder with all of them again'
            )
    measured = {(r.config, r.rows[0].changes): r.number for r in runs if not r.summary}
    runs = [
        run
        for run in runs
        if not run.summary or measured.get((run.config, run.rows[0].changes), 0) < run.number
    ]
    return sorted(
        runs,
        key=lambda run: (EXPERIMENTS.index(run.experiment), run.config, run.rows[0].changes),
    )
