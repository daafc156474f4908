"""Tests for graph isomorphism by colour refinement."""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Literal, NamedTuple, TypeAlias, overload

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from graphgym_nc.wl.graphs import GraphLike
from graphgym_nc.wl.k_wl import refine_triples
from graphgym_nc.wl.multisets import Ints, multiset_ids
from graphgym_nc.wl.refinement import refine_edges, refine_nodes
from graphgym_nc.wl.union import GraphUnion, disjoint_union

Algorithm: TypeAlias = Literal['1-wl', 'nc-1-wl', 'eb-1-wl', '3-wl']

ALGORITHMS: tuple[Algorithm, ...] = ('1-wl', 'nc-1-wl', 'eb-1-wl', '3-wl')


class Coloring(NamedTuple):
    """Colours of several graphs after some iteration.

    Attributes:
        colors: For every graph, the colours of its nodes, of shape
            :obj:`[n]`, or (for 3-WL) of its triples of nodes, of shape
            :obj:`[n, n, n]`.
    """

    colors: list[Ints]

    def graph_ids(self) -> Ints:
        """One number per graph, equal if and only if the graphs have equally
        many nodes (or triples) of every colour.
        """
        sizes = np.array([color.size for color in self.colors], dtype=np.int64)
        flat = [color.ravel() for color in self.colors]
        values = np.concatenate(flat) if flat else np.empty(0, dtype=np.int64)
        return multiset_ids(np.repeat(np.arange(sizes.size), sizes), values, sizes.size)


def color_refinement(
    graphs: Iterable[GraphLike],
    algorithm: Algorithm = 'nc-1-wl',
    max_iter: int | None = None,
) -> list[Tensor]:
    """Computes the stable colours of several graphs.

    All graphs are refined together: colours are comparable across them. They
    are the numbers :obj:`0, 1, ...` in an order that depends neither on the
    order of the nodes nor on that of the graphs.

    Args:
        graphs: PyG :class:`~torch_geometric.data.Data` objects, networkx
            graphs or graph6 strings. Initial colours are the node features
            (:obj:`x` in PyG; the attribute :obj:`x` or :obj:`label` in
            networkx), or all equal if there are none. Edge features
            (:obj:`edge_attr`; in networkx also :obj:`label`) are respected if
            there are any. Self-loops are dropped, parallel edges merged, and
            directed edges taken as undirected ones, with a warning.
        algorithm: :obj:`'1-wl'`, :obj:`'nc-1-wl'`
            (:meth:`~graphgym_nc.wl.refinement.refine_nodes`), :obj:`'eb-1-wl'`
            (:meth:`~graphgym_nc.wl.refinement.refine_edges`) or :obj:`'3-wl'`
            (:meth:`~graphgym_nc.wl.k_wl.refine_triples`).
        max_iter: The largest number of iterations; as many as it takes if not
            given.

    Returns:
        For every graph, the colours of its nodes, of shape :obj:`[n]`, or
        those of its triples of nodes, of shape :obj:`[n, n, n]`, for 3-WL.

    Raises:
        MemoryError: If a graph is too large for 3-WL.
        TypeError: If a graph is of an unknown type.
        ValueError: If the algorithm is unknown, or a graph is malformed.

    Example:
        >>> triangle_with_tail = nx.lollipop_graph(3, 1)
        >>> color_refinement([triangle_with_tail])
        [tensor([1, 1, 2, 0])]
    """
    coloring = _last(colorings(graphs, algorithm, max_iter))
    return [torch.from_numpy(np.ascontiguousarray(color)) for color in coloring.colors]


def colorings(
    graphs: Iterable[GraphLike],
    algorithm: Algorithm = 'nc-1-wl',
    max_iter: int | None = None,
) -> Iterator[Coloring]:
    """Yields the initial colours of several graphs and, until they are stable,
    those after every iteration of :meth:`color_refinement`.
    """
    if algorithm not in ALGORITHMS:
        raise ValueError(
            f"unknown algorithm '{algorithm}' (allowed are {', '.join(map(repr, ALGORITHMS))})"
        )
    if max_iter is not None and max_iter < 0:
        raise ValueError(f"'max_iter' must not be negative (got {max_iter})")
    union = disjoint_union(graphs)
    stop = None if max_iter is None else max_iter + 1
    return islice(_colorings(union, algorithm), stop)


def wl_classes(graphs: Iterable[GraphLike], algorithm: Algorithm = 'nc-1-wl') -> list[int]:
    """Sorts graphs into classes that the algorithm cannot part any further.

    Args:
        graphs: See :meth:`color_refinement`.
        algorithm: See :meth:`color_refinement`.

    Returns:
        The class of every graph: equal if and only if the algorithm does not
        distinguish the graphs. Classes are numbered in the order in which they
        first occur.
    """
    ids = _last(colorings(graphs, algorithm)).graph_ids()
    return [int(number) for number in pd.factorize(ids)[0]]


def undistinguished_pairs(classes: Iterable[int]) -> int:
    """The number of pairs within the same class."""
    return sum(size * (size - 1) // 2 for size in Counter(classes).values())


@overload
def distinguishes(
    g: GraphLike,
    h: GraphLike,
    algorithm: Algorithm = ...,
    return_iteration: Literal[False] = ...,
) -> bool: ...


@overload
def distinguishes(
    g: GraphLike, h: GraphLike, algorithm: Algorithm = ..., *, return_iteration: Literal[True]
) -> tuple[bool, int | None]: ...


def distinguishes(
    g: GraphLike,
    h: GraphLike,
    algorithm: Algorithm = 'nc-1-wl',
    return_iteration: bool = False,
) -> bool | tuple[bool, int | None]:
    """Whether the algorithm proves that two graphs are not isomorphic.

    Args:
        g: A graph, see :meth:`color_refinement`.
        h: Another graph.
        algorithm: See :meth:`color_refinement`.
        return_iteration: Whether to return also the number of iterations
            after which the graphs part: :obj:`0` if their initial colours
            differ, :obj:`None` if they never part.
    """
    parted_at = None
    for iteration, coloring in enumerate(colorings([g, h], algorithm)):
        first, second = coloring.graph_ids()
        if first != second:
            parted_at = iteration
            break
    parted = parted_at is not None
    return (parted, parted_at) if return_iteration else parted


def _colorings(union: GraphUnion, algorithm: Algorithm) -> Iterator[Coloring]:
    if algorithm == '3-wl':
        for colors in refine_triples(union):
            yield Coloring(colors)
    else:
        by_edges = algorithm == 'eb-1-wl'
        nodes = refine_edges(union) if by_edges else refine_nodes(union, algorithm == 'nc-1-wl')
        for color in nodes:
            yield Coloring(np.split(color, union.ptr[1:-1]) if union.num_graphs > 0 else [])


def _last(items: Iterator[Coloring]) -> Coloring:
    *_, last = items
    return last
