"""What lies among the neighbours that a node has at one hop: its peripheral subgraph."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphgym_nc import kernels
from graphgym_nc.structures.data import check_size

Array = NDArray[Any]


class Peripheral(NamedTuple):
    """How much of peripheral subgraphs is told, and up to which numbers.

    Attributes:
        types: The number of types of edges that are told: those with most edges.
        edges: The largest number of edges of a type that is told.
        levels: The largest distance between two nodes that is told.
        pairs: The largest number of pairs at a distance, and of edges inside of a level, that is
            told.
    """

    types: int = 1
    edges: int = 50
    levels: int = 5
    pairs: int = 100

    def of(self, adjacency: sp.csr_array, kind: Array, hop: sp.csr_array) -> tuple[Array, Array]:
        r"""Describes the peripheral subgraphs of one hop as KP-GNN does.

        Args:
            adjacency: The adjacency matrix of the graph, symmetric and without loops.
            kind: The type of each of its entries.
            hop: The symmetric matrix of pairs of nodes that are neighbours at this hop.

        Returns:
            Of each node, the types that most edges have, and their number (in both directions),
            of shape :obj:`[n, types, 2]`; and the configuration of its subgraph, of shape
            :obj:`[n, levels + 1]`: how many ordered pairs of nodes are at distance
            :math:`1, 2, \ldots`, behind the number of edges (in both directions, times 2 plus
            their type) between nodes that are equally far from a third. Both are clipped. All is
            zero without an edge.
        """
        edges, levels = describe(adjacency, kind, hop, self.levels)
        edges = np.pad(edges, ((0, 0), (0, max(self.types - edges.shape[1], 0))))
        order = np.argsort(-edges, axis=1, kind='stable')[:, : self.types]
        number = np.take_along_axis(edges, order, axis=1).clip(max=self.edges)
        told = np.stack([np.where(number > 0, order, 0), number], axis=2)
        return told.astype(np.int32), levels.clip(max=self.pairs).astype(np.int32)


#: What the authors of KP-GNN tell on small graphs.
USUAL = Peripheral()


def describe(
    adjacency: sp.csr_array, kind: Array, hop: sp.csr_array, num_levels: int
) -> tuple[Array, Array]:
    """Counts what :meth:`Peripheral.of` tells, without any limit but that of distances."""
    largest = int(np.diff(hop.indptr).max(initial=0))
    check_size(largest**2 // 4, 'the peripheral subgraph of a node')
    if not kernels.enabled():
        return _describe_by_products(adjacency, kind, hop, num_levels)
    from graphgym_nc.kernels.hops import peripheral

    num_nodes, types = adjacency.shape[0], int(kind.max(initial=0)) + 1
    edges = np.zeros((num_nodes, types), np.int64)
    levels = np.zeros((num_nodes, num_levels + 1), np.int64)
    matrices = [
        array.astype(np.int64) for m in (adjacency, hop) for array in (m.indptr, m.indices)
    ]
    peripheral(*matrices[:2], kind, *matrices[2:], edges, levels)
    return edges, levels


def _describe_by_products(
    adjacency: sp.csr_array, kind: Array, hop: sp.csr_array, num_levels: int
) -> tuple[Array, Array]:
    """The same by products of sparse matrices: all subgraphs are put side by side into one
    graph, whose nodes are the pairs that are neighbours at this hop.
    """
    num_nodes, types = adjacency.shape[0], int(kind.max(initial=0)) + 1
    owner = np.repeat(np.arange(num_nodes), np.diff(hop.indptr))
    # An entry of `side` is 2 plus the type of the edge that it stands for.
    weights = sp.csr_array((kind + 2, adjacency.indices, adjacency.indptr), shape=adjacency.shape)
    inside = weights[hop.indices].multiply(_pattern(hop)[owner]).tocoo()
    key = owner[inside.row] * num_nodes + inside.col
    col = np.searchsorted(owner * num_nodes + hop.indices, key)
    side = sp.csr_array((inside.data, (inside.row, col)), shape=(owner.size, owner.size))

    number = np.zeros((num_nodes, types), np.int64)
    np.add.at(number, (owner[inside.row], inside.data - 2), 1)
    levels = np.zeros((num_nodes, num_levels + 1), np.int64)
    level = sp.eye_array(owner.size, dtype=np.int64, format='csr')
    seen = level
    for depth in range(1, num_levels + 1):
        level = _pattern(level @ side)
        level = level - level.multiply(seen)
        level.eliminate_zeros()
        seen = seen + level
        per_pair = np.diff(level.indptr)
        np.add.at(levels[:, depth], owner, per_pair)
        np.add.at(levels[:, 0], owner, (level @ side).multiply(level).sum(axis=1))
    return number, levels


def _pattern(matrix: sp.csr_array) -> sp.csr_array:
    """The matrix of ones where a matrix has entries."""
    ones = np.ones(matrix.indices.size, np.int64)
    return sp.csr_array((ones, matrix.indices, matrix.indptr), shape=matrix.shape)
