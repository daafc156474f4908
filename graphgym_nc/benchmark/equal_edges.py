"""What is gained by edges that are equal: of the same features, and between the same twins."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any
from unittest import mock

import torch
from torch import Tensor
from torch.nn import BatchNorm1d, Linear, ReLU, Sequential
from torch_geometric.utils import degree

from graphgym_nc.benchmark.measure import peak_bytes, seconds
from graphgym_nc.benchmark.workloads import Workload
from graphgym_nc.nn import NCGNNConv
from graphgym_nc.triangles import merged_edges
from graphgym_nc.triangles.incidence import TriangleIncidence
from graphgym_nc.triangles.merged_edges import MergedEdges
from graphgym_nc.triangles.twin_pairs import TwinPairs

_LAYERS = 4


def measure_equal_edges(workload: Workload, repeat: int) -> dict[str, Any]:
    """Times four layers on one-hot degrees, the first as wide as these: with a row for
    every edge, with one for edges of the same features (in the first layer), with one for
    edges between the same twins (in all), and with both.
    """
    functions, incidence, x = contestants(workload)
    pairs = TwinPairs.of(incidence, x)
    times = seconds(functions, repeat, workload.name, least=2.0)
    peaks = {name: peak_bytes(function) for name, function in functions.items()}
    every, *others = functions
    return {
        'workload': workload.name,
        'graphs': workload.source,
        'edges': incidence.num_edges,
        'pairs of twins': incidence.num_edges if pairs is None else pairs.num_edges,
        'of features': MergedEdges.by_features(pairs or incidence, x).num_edges,
        f'{every}, ms': 1e3 * times[every],
        **{name: times[name] / times[every] for name in others},
        f'{every}, MB': peaks[every] / 2**20,
        **{f'{name}, memory': peaks[name] / peaks[every] for name in others},
    }


def contestants(
    workload: Workload,
) -> tuple[dict[str, Callable[[], Tensor]], TriangleIncidence, Tensor]:
    """The four ways, what the layers run on, and the features."""
    edge_index, num_nodes = workload.data.edge_index, workload.data.num_nodes
    incidence = TriangleIncidence.build(edge_index, num_nodes)
    number = degree(edge_index[0], num_nodes, torch.long)
    x = torch.nn.functional.one_hot(number).float()
    torch.manual_seed(0)
    layers = torch.nn.ModuleList(
        _layer(x.size(1) if i == 0 else workload.channels, workload.channels)
        for i in range(_LAYERS)
    )

    def run(use_twins: bool) -> Tensor:
        pairs = TwinPairs.of(incidence, x) if use_twins else None
        edges = replace(incidence, pairs=pairs)
        layers.zero_grad()
        out = x
        for layer in layers:
            out = layer(out, edge_index, edges)
        out.sum().backward()
        return out.detach()

    def run_unmerged(use_twins: bool) -> Tensor:
        with mock.patch.object(merged_edges, '_MIN_EDGES', float('inf')):
            return run(use_twins)

    functions: dict[str, Callable[[], Tensor]] = {
        'every edge': partial(run_unmerged, use_twins=False),
        'by features': partial(run, use_twins=False),
        'by twins': partial(run_unmerged, use_twins=True),
        'both': partial(run, use_twins=True),
    }
    return functions, incidence, x


def _layer(dim_in: int, dim_out: int) -> NCGNNConv:
    return NCGNNConv(_mlp(dim_in, dim_out, dim_out), _mlp(dim_in, dim_out, dim_in))


def _mlp(*widths: int) -> Sequential:
    first, inner, last = widths
    return Sequential(
        Linear(first, inner), BatchNorm1d(inner), ReLU(),
        Linear(inner, last), BatchNorm1d(last), ReLU(),
    )  # fmt: skip
