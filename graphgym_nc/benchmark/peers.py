"""All systems side by side, at about equal numbers of parameters: what a training step costs, and
what has to be found before it.
"""

import copy
import logging
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import torch
import torch.nn.functional as F
from torch_geometric.data import Batch, Data
from torch_geometric.graphgym.config import cfg
from torch_geometric.graphgym.loss import compute_loss
from torch_geometric.graphgym.utils.comp_budget import params_count

from graphgym_nc.benchmark.measure import FlopCounter, peak_bytes, seconds
from graphgym_nc.benchmark.workloads import WORKLOADS, load_workload
from graphgym_nc.datasets.triangle_counting import TriangleCounting
from graphgym_nc.graphgym.preparation import bytes_per_pair, preparation
from graphgym_nc.graphgym.validation import ConfigError
from graphgym_nc.structures.data import TooLargeError, check_size
from graphgym_nc.training.run import load_config, parse_args
from graphgym_nc.training.train import Module, create_model
from graphgym_nc.utils.packaged import packaged, packaged_names
from graphgym_nc.wl.expressiveness import TOTAL
from graphgym_nc.wl.networks import NETWORKS

BUDGET = 100_000

_LEAN = ('nc.mlp2_layers', '1', 'nc.communicate_aggr', 'sqrt')

# A configuration without a size, or rather the smallest of the paper's.
_SIZES = ('', '_100k', '_4l_100k')

_RATIOS = (('time', 'ms per step'), ('memory', 'MB'), ('MACs', 'MMACs per graph'))


@dataclass(frozen=True)
class Case:
    """The form of a data set.

    Attributes:
        config: Its name in configurations.
        dim_in: The number of features, which are one-hot.
        dim_out: The number of classes, or 1 for a number.
        nodes: Whether nodes are classified, not graphs.
        graphs: The number of graphs in a batch.
    """

    config: str
    dim_in: int
    dim_out: int
    nodes: bool = False
    graphs: int = 32


#: What is measured, by workload.
CASES = {
    'pattern-70': Case('pattern', 3, 2, nodes=True, graphs=8),
    'cluster-70': Case('cluster', 7, 6, nodes=True, graphs=8),
    'proteins': Case('proteins', 3, 2, graphs=8),
    'imdb': Case('imdb_b', 136, 2),
    'counting': Case('counting_regular', 1, 1, graphs=128),
}


@dataclass
class Contestant:
    """A system that is ready to train on a batch.

    Attributes:
        name: Its configuration, without the data set.
        width: The width at which it has about :obj:`BUDGET` parameters.
        model: The model.
        batch: The batch, with all structures.
        preparation: Seconds for the structures of a graph.
        config: GraphGym's configuration: models read it whenever they run.
    """

    name: str
    width: int
    model: Module
    batch: Batch
    preparation: float = 0.0
    config: dict[str, Any] = field(default_factory=lambda: dict(cfg))

    def forward(self) -> Any:
        """Scores and labels of the batch, whose triangles are found anew."""
        dict.update(cfg, self.config)
        batch = copy.copy(self.batch)
        batch.split = 'train'
        return self.model(batch)

    def step(self) -> None:
        """A training step, but for the optimizer's."""
        self.model.zero_grad()
        compute_loss(*self.forward())[0].backward()


def measure_peers(workload: str, root: Path, repeat: int) -> list[dict[str, Any]]:
    """Trains all systems on the same batch.

    Args:
        workload: One of :obj:`CASES`.
        root: Where data sets are kept.
        repeat: How often to measure.

    Returns:
        A row for each system, the first of which is GIN.
    """
    case = CASES[workload]
    graphs = _graphs(workload, case, root)
    found = (_contestant(*system, case, graphs) for system in systems(case.config).items())
    contestants = [each for each in found if each is not None]
    times = seconds({each.name: each.step for each in contestants}, repeat, workload)
    rows = [
        {
            'workload': workload,
            'system': each.name,
            'width': each.width,
            'parameters': params_count(each.model),
            'preparation, ms per graph': 1e3 * each.preparation,
            'ms per step': 1e3 * times[each.name],
            'MB': peak_bytes(each.step) / 2**20,
            'MMACs per graph': _macs(each) / 1e6 / len(graphs),
        }
        for each in contestants
    ]
    for row in rows:
        row |= {f'{title} over GIN': row[column] / rows[0][column] for title, column in _RATIOS}
    return rows


def systems(config: str) -> dict[str, str]:
    """The configurations of a data set, by their system, GIN's first."""
    found = {
        match[1]: name
        for size in _SIZES
        for name in packaged_names('configs')
        if (match := re.fullmatch(f'(.+)_{config}{size}', name))
    }
    found['nc_lean'] = found['nc']
    first = ('gin', 'nc', 'nc_lean')
    return {name: found[name] for name in (*first, *sorted(found.keys() - {*first}))}


def _graphs(workload: str, case: Case, root: Path) -> list[Data]:
    """Graphs of the right form, with features and labels that are drawn."""
    if workload in WORKLOADS:
        graphs = load_workload(workload, root, case.graphs).data.to_data_list()
    else:
        graphs = [*TriangleCounting(root, first=case.graphs)][: case.graphs]
    generator = torch.Generator().manual_seed(0)
    return [_labelled(graph, case, generator) for graph in graphs]


def _labelled(graph: Data, case: Case, generator: torch.Generator) -> Data:
    features = torch.randint(case.dim_in, (graph.num_nodes,), generator=generator)
    labels = torch.randint(
        case.dim_out, (graph.num_nodes if case.nodes else 1,), generator=generator
    )
    return Data(
        x=F.one_hot(features, case.dim_in).float(),
        edge_index=graph.edge_index,
        y=labels.float() if case.dim_out == 1 else labels,
    )


def _contestant(name: str, config: str, case: Case, graphs: list[Data]) -> Contestant | None:
    """A system at the width that comes nearest to the budget; none if it cannot be had."""
    try:
        options = _LEAN if name == 'nc_lean' else ()
        width, model = nearest_width(partial(_built, config, case, options), BUDGET)
        largest = max(graph.num_nodes for graph in graphs)
        check_size(len(graphs) * largest**2 * bytes_per_pair(), 'the pairs of nodes of a batch')
        transform = preparation()
        if transform is None:
            return Contestant(name, width, model, Batch.from_data_list(graphs))
        transform(copy.copy(graphs[0]))  # what is compiled but once is not measured
        start = time.perf_counter()
        prepared = [transform(copy.copy(graph)) for graph in graphs]
        spent = (time.perf_counter() - start) / len(graphs)
    except (ConfigError, TooLargeError) as error:
        logging.warning('%s is left out: %s', config, error)
        return None
    return Contestant(name, width, model, Batch.from_data_list(prepared), spent)


def _built(config: str, case: Case, options: Sequence[str], width: int) -> Module:
    opts = [*options, 'gnn.dim_inner', str(width), 'accelerator', 'cpu']
    load_config(parse_args(['--cfg', str(packaged('configs', config)), *opts]))
    cfg.share.dim_in, cfg.share.dim_out, cfg.share.num_splits = case.dim_in, case.dim_out, 3
    torch.manual_seed(0)
    return create_model().train()


def nearest_width(
    build: Callable[[int], Module], budget: int, step: int = 8
) -> tuple[int, Module]:
    """The width at which a model has the number of parameters that is nearest to a budget: a
    multiple of 8, or of 24 if the model does not take those.

    Raises:
        ConfigError: If the model takes no such width.
    """
    low, high = step, 2 * step
    try:
        while params_count(build(high)) < budget:
            low, high = high, 2 * high
        while high - low > step:
            middle = (low + high) // 2 // step * step
            if params_count(build(middle)) < budget:
                low = middle
            else:
                high = middle
        width = min((low, high), key=lambda width: abs(params_count(build(width)) - budget))
        return width, build(width)
    except ConfigError:
        if step == 24:
            raise
        return nearest_width(build, budget, 24)


def _macs(contestant: Contestant) -> float:
    with torch.no_grad(), FlopCounter() as counter:
        contestant.forward()
    return counter.total / 2


def pairs_told_apart(path: Path) -> dict[str, int]:
    """How many pairs of BREC each system tells apart with random weights.

    Args:
        path: The table that ``graphgym-nc expressiveness`` writes.

    Raises:
        SystemExit: If it is none.
    """
    try:
        totals = pd.read_csv(path, index_col=0)[TOTAL].dropna()
    except (OSError, KeyError, ValueError) as error:
        raise SystemExit(
            f"'--pairs {path}' is no table of graphgym-nc expressiveness with '--brec': {error}"
        ) from error
    titles = {name: f'random {network.title}' for name, network in NETWORKS.items()}
    return {name: int(totals[title]) for name, title in titles.items() if title in totals}
