"""The graphs that a colour refinement takes."""

from typing import Any, NamedTuple, TypeAlias

import networkx as nx
import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch_geometric.data import Data

from graphgym_nc.wl.graph6 import decode_graph6
from graphgym_nc.wl.multisets import Ints

GraphLike: TypeAlias = Data | nx.Graph | str | bytes  # type: ignore[type-arg,unused-ignore]
Features: TypeAlias = npt.NDArray[Any]


class Graph(NamedTuple):
    """A graph whose undirected edges are there in both directions.

    Attributes:
        edge_index: The edges, of shape :obj:`[2, E]`.
        num_nodes: The number of nodes.
        x: One row of features (or one label) per node.
        edge_attr: One row of features (or one label) per column of
            :obj:`edge_index`.
    """

    edge_index: Ints
    num_nodes: int
    x: Features | None = None
    edge_attr: Features | None = None


def to_graph(graph: GraphLike) -> Graph:
    """Brings a graph of any kind into the form of :class:`Graph`.

    Args:
        graph: A PyG :class:`~torch_geometric.data.Data` object, whose features
            are :obj:`x` and :obj:`edge_attr`; a networkx graph, whose features
            are the attributes :obj:`x` or :obj:`label` of its nodes and
            :obj:`edge_attr` or :obj:`label` of its edges; or a graph6 string.

    Raises:
        TypeError: If it is none of these.
        ValueError: If it is malformed.
    """
    if isinstance(graph, str | bytes):
        graph = decode_graph6(graph)
    if isinstance(graph, nx.Graph):
        return _from_networkx(graph)
    if isinstance(graph, Data):
        return _from_data(graph)
    raise TypeError(
        "a graph must be a PyG 'Data' object, a networkx graph or a graph6 string "
        f"(got '{type(graph).__name__}')"
    )


def to_data(graph: GraphLike) -> Data:
    """Brings a graph of any kind, without its features, into the form of a PyG
    :class:`~torch_geometric.data.Data` object.
    """
    edge_index, num_nodes = to_graph(graph)[:2]
    return Data(edge_index=torch.from_numpy(np.ascontiguousarray(edge_index)), num_nodes=num_nodes)


def _from_data(data: Data) -> Graph:
    if data.edge_index is None:
        raise ValueError("the graph has no 'edge_index'")
    num_nodes = int(data.num_nodes or 0)
    edge_index = _to_numpy(data.edge_index)
    if edge_index.ndim != 2 or edge_index.shape[0] != 2 or edge_index.dtype.kind not in 'iu':
        raise ValueError(
            f"'edge_index' must hold integers in shape [2, E] (got {data.edge_index.dtype} in "
            f'{list(edge_index.shape)})'
        )
    if edge_index.size > 0 and (edge_index.min() < 0 or edge_index.max() >= num_nodes):
        raise ValueError(
            f"'edge_index' holds node indices from {edge_index.min()} to {edge_index.max()}, "
            f'but there are {num_nodes} nodes'
        )
    return Graph(
        edge_index.astype(np.int64, copy=False),
        num_nodes,
        None if data.x is None else _to_numpy(data.x),
        None if data.edge_attr is None else _to_numpy(data.edge_attr),
    )


def _from_networkx(graph: Any) -> Graph:
    number = {node: i for i, node in enumerate(graph)}
    edges = [(number[u], number[v]) for u, v in graph.edges()]
    edge_index = np.array(edges, dtype=np.int64).reshape(-1, 2).T
    edge_attr = _attribute([data for *_, data in graph.edges(data=True)], ('edge_attr', 'label'))
    if not graph.is_directed():
        edge_index = np.concatenate([edge_index, edge_index[::-1]], axis=1)
        edge_attr = None if edge_attr is None else np.concatenate([edge_attr, edge_attr])
    x = _attribute([data for _, data in graph.nodes(data=True)], ('x', 'label'))
    return Graph(edge_index, len(number), x, edge_attr)


def _attribute(items: list[dict[str, Any]], names: tuple[str, ...]) -> Features | None:
    """The first of the named attributes that the items carry."""
    for name in names:
        values = [_to_numpy(item[name]) for item in items if name in item]
        if not values:
            continue
        if len(values) < len(items):
            raise ValueError(f"only {len(values)} of {len(items)} carry the attribute '{name}'")
        if len({value.shape for value in values}) > 1:
            raise ValueError(f"the attribute '{name}' has values of different shapes")
        return np.stack(values)
    return None


def _to_numpy(value: Any) -> Features:
    if isinstance(value, Tensor):
        value = value.detach().cpu()
        return (value.float() if value.dtype == torch.bfloat16 else value).numpy()
    return np.asarray(value)
