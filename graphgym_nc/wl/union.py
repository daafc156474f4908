"""The disjoint union of the graphs that a colour refinement compares."""

import warnings
from collections.abc import Iterable
from typing import NamedTuple

import networkx as nx
import numpy as np
import torch
from torch_geometric.data import Data

from graphgym_nc.triangles.simple_graph import SimpleGraph, simple_graph
from graphgym_nc.wl.graphs import Features, Graph, GraphLike, to_graph
from graphgym_nc.wl.multisets import Ints, pair_ids, renumber

_KINDS = {'b': 'numbers', 'i': 'numbers', 'u': 'numbers', 'f': 'numbers', 'U': 'strings'}


class GraphUnion(NamedTuple):
    """The disjoint union of several graphs, as undirected simple graphs.

    Attributes:
        graph: The union.
        num_nodes: The number of nodes of every graph.
        node_color: The initial colour of every node: equal if and only if the
            features are.
        edge_color: The same of every edge.
    """

    graph: SimpleGraph
    num_nodes: Ints
    node_color: Ints
    edge_color: Ints

    @property
    def num_graphs(self) -> int:
        return self.num_nodes.size

    @property
    def ptr(self) -> Ints:
        """Where each graph's nodes begin, of shape :obj:`[num_graphs + 1]`."""
        return np.concatenate([[0], np.cumsum(self.num_nodes)])

    @property
    def batch(self) -> Ints:
        """The graph that every node belongs to."""
        return np.repeat(np.arange(self.num_graphs), self.num_nodes)


def disjoint_union(graphs: Iterable[GraphLike]) -> GraphUnion:
    """Brings graphs of all kinds into one.

    Self-loops are dropped and parallel edges merged. The edges of a directed
    graph are taken as undirected ones, with a warning.

    Args:
        graphs: Graphs as in :meth:`~graphgym_nc.wl.graphs.to_graph`. Either
            all of them carry features, or none does.

    Raises:
        TypeError: If a graph is of an unknown type.
        ValueError: If a graph is malformed, or its features cannot be
            compared with those of the others.
    """
    if isinstance(graphs, Data | nx.Graph | str | bytes):
        raise TypeError(
            f"'graphs' must be several graphs (got one '{type(graphs).__name__}'); "
            'put it into a list'
        )
    each = [_to_graph(graph, i) for i, graph in enumerate(graphs)]
    num_nodes = np.array([graph.num_nodes for graph in each], dtype=np.int64)
    num_columns = np.array([graph.edge_index.shape[1] for graph in each], dtype=np.int64)
    columns = [graph.edge_index for graph in each]
    edge_index = np.concatenate(columns, axis=1) if columns else np.empty((2, 0), dtype=np.int64)
    edge_index = edge_index + np.repeat(np.cumsum(num_nodes) - num_nodes, num_columns)
    graph = simple_graph(torch.from_numpy(edge_index), int(num_nodes.sum()))

    column_color = _colors([item.edge_attr for item in each], num_columns, 'edge')
    union = GraphUnion(
        graph,
        num_nodes,
        _colors([item.x for item in each], num_nodes, 'node'),
        _edge_color(graph, num_nodes, column_color),
    )
    _check_mirrored(union, edge_index)
    return union


def _to_graph(graph: GraphLike, index: int) -> Graph:
    try:
        return to_graph(graph)
    except (TypeError, ValueError) as error:
        raise type(error)(f'graph {index}: {error}') from error


def _colors(features: list[Features | None], counts: Ints, what: str) -> Ints:
    """Numbers equal rows of features equally, over all graphs."""
    parts = {i: features[i] for i in np.flatnonzero(counts)}
    given = {i: part for i, part in parts.items() if part is not None}
    if not given:
        return np.zeros(int(counts.sum()), dtype=np.int64)
    if len(given) < len(parts):
        without = next(i for i in parts if i not in given)
        raise ValueError(
            f'graph {next(iter(given))} has {what} features, but graph {without} has none'
        )

    rows = [_rows(part, int(counts[i]), f'graph {i}', what) for i, part in given.items()]
    form = [f'{part.shape[1]} {_KINDS[part.dtype.kind]}' for part in rows]
    for i, other in zip(given, form, strict=True):
        if other != form[0]:
            raise ValueError(
                f'the {what} features of graph {i} ({other} each) cannot be compared with those '
                f'of graph {next(iter(given))} ({form[0]} each)'
            )
    return _row_ids(np.concatenate(rows))


def _rows(features: Features, count: int, graph: str, what: str) -> Features:
    if features.shape[:1] != (count,):
        raise ValueError(
            f'{graph} has {what} features of shape {list(features.shape)} for {count} {what}s'
        )
    if features.dtype.kind not in _KINDS:
        raise ValueError(f'{graph} has {what} features of type {features.dtype}')
    if features.dtype.kind == 'f' and np.isnan(features).any():
        raise ValueError(f'{graph} has {what} features that are not a number')
    return features.reshape(count, -1)


def _row_ids(rows: Features) -> Ints:
    ids = np.zeros(rows.shape[0], dtype=np.int64)
    for column in rows.T:
        ids = pair_ids(ids, np.unique(column, return_inverse=True)[1])
    return ids


def _edge_color(graph: SimpleGraph, num_nodes: Ints, column_color: Ints) -> Ints:
    edge_id = graph.edge_id.numpy()
    color = np.zeros(graph.num_edges + 1, dtype=np.int64)
    color[edge_id] = column_color
    differs = (color[edge_id] != column_color) & (edge_id < graph.num_edges)
    if differs.any():
        u, v = graph.edge_index[:, int(edge_id[differs][0])].tolist()
        end = np.cumsum(num_nodes)
        index = int(np.searchsorted(end, u, side='right'))
        start = end[index] - num_nodes[index]
        raise ValueError(
            f'graph {index}: the edge between nodes {u - start} and {v - start} has different '
            'features in its copies; an undirected edge has the same in both directions'
        )
    return renumber(color[:-1])


def _check_mirrored(union: GraphUnion, edge_index: Ints) -> None:
    edge_id = union.graph.edge_id.numpy()
    seen = np.zeros((2, union.graph.num_edges + 1), dtype=bool)
    seen[0, edge_id[edge_index[0] < edge_index[1]]] = True
    seen[1, edge_id[edge_index[0] > edge_index[1]]] = True
    one_way = np.flatnonzero(seen[0] != seen[1])
    if one_way.size > 0:
        directed = np.unique(union.batch[union.graph.edge_index[0].numpy()[one_way]])
        more = f' (and {directed.size - 1} more)' if directed.size > 1 else ''
        # Past `disjoint_union`, `colorings` and the function that was called.
        warnings.warn(
            f'graph {directed[0]}{more} is directed: its edges are taken as undirected ones',
            stacklevel=5,
        )
