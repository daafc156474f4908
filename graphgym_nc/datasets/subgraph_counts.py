"""Numbers of small subgraphs, exact: what networks are asked to count."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch_geometric.data import Data

Array = NDArray[Any]


def count_subgraphs(edge_index: Array, num_nodes: int, target: str) -> int:
    """Counts the subgraphs of one kind, which need not be induced, in an undirected simple graph.

    Args:
        edge_index: Both directions of every edge, of shape :obj:`[2, num_edges]`.
        num_nodes: The number of nodes; time and memory grow with its cube at most.
        target: The kind, one of :data:`TARGETS`.
    """
    adjacency = np.zeros((num_nodes, num_nodes))  # floating point: whole numbers up to 2**53
    adjacency[edge_index[0], edge_index[1]] = 1
    return round(float(TARGETS[target](adjacency)))


def set_targets(graphs: Sequence[Data], target: str, normalise: bool = True) -> None:
    """Gives every graph its number of subgraphs as :obj:`y`, divided by the standard deviation
    over all graphs, unless they are too few for one.

    Raises:
        ValueError: If all graphs have the same number.
    """
    counts = torch.tensor(
        [count_subgraphs(g.edge_index.numpy(), g.num_nodes, target) for g in graphs]
    )
    deviation = counts.float().std() if normalise else torch.tensor(1.0)
    if deviation == 0:
        raise ValueError(f"all graphs have the same number of '{target}', {counts[0]}")
    for data, y in zip(graphs, counts / deviation, strict=True):
        data.y = y.view(1)


def _triangles(adjacency: Array) -> Array:
    """The number of triangles at every node."""
    return (adjacency @ adjacency * adjacency).sum(axis=1) / 2


def _pairs(number: Array) -> Array:
    return number * (number - 1) / 2


def _triangle(adjacency: Array) -> Any:
    return _triangles(adjacency).sum() / 3


def _tailed_triangle(adjacency: Array) -> Any:
    """A triangle, and one more edge at one of its nodes."""
    return (_triangles(adjacency) * (adjacency.sum(axis=1) - 2)).sum()


def _star(adjacency: Array) -> Any:
    """A node and three of its neighbours."""
    degree = adjacency.sum(axis=1)
    return (_pairs(degree) * (degree - 2)).sum() / 3


def _cycle4(adjacency: Array) -> Any:
    """Two nodes and two common neighbours: every cycle has two such pairs of nodes."""
    common = adjacency @ adjacency
    np.fill_diagonal(common, 0)
    return _pairs(common).sum() / 4


def _chordal_cycle(adjacency: Array) -> Any:
    """Two adjacent nodes, and two of their common neighbours."""
    return (_pairs(adjacency @ adjacency) * adjacency).sum() / 2


def _clique4(adjacency: Array) -> Any:
    """A node, and a triangle among its neighbours."""
    among = adjacency * adjacency[:, :, None] * adjacency[:, None, :]
    return (among @ among * among).sum() / 24


#: The kinds of subgraphs, by name.
TARGETS: dict[str, Callable[[Array], Any]] = {
    'triangle': _triangle,
    'tailed_triangle': _tailed_triangle,
    'star': _star,
    'cycle4': _cycle4,
    'chordal_cycle': _chordal_cycle,
    'clique4': _clique4,
}
