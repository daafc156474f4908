"""The parts of a :class:`~graphgym_nc.TriangleIncidence`, by kernels on the CPU
or by torch on any device: the same, whichever way.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from graphgym_nc.incidence import Incidence, index_dtype
from graphgym_nc.triangles import SimpleGraph, check_edge_index, list_triangles, simple_graph


def twins_pay(first: int, num_edges: int, num_messages: int) -> bool:
    """Whether to make use of twins: if the messages to first twins, and the ends
    of all edges, are much fewer than the messages.
    """
    return first + 2 * num_edges < 0.6 * num_messages


def parts_by_kernels(edge_index: Tensor, num_nodes: int) -> dict[str, Any]:
    """Finds the triangles, and all that depends on them, with kernels."""
    from graphgym_nc.kernels import triangles as kernel

    num_nodes = check_edge_index(edge_index, num_nodes)
    edge_index = edge_index.contiguous()
    dtype = index_dtype(num_nodes, 2 * edge_index.size(1))
    edge_id = torch.empty(edge_index.size(1), dtype=dtype)
    edges, weight = kernel.weigh(edge_index.numpy(), num_nodes, edge_id.numpy())
    num_edges, num_messages = weight.size, int(weight.sum(dtype='int64'))

    twin = torch.empty(num_nodes, dtype=dtype)
    messages = torch.empty(num_nodes, dtype=torch.long)
    first = kernel.find_twins(edges, weight, twin.numpy(), messages.numpy())
    with_twins = twins_pay(first, num_edges, num_messages)
    keep = twin == torch.arange(num_nodes) if with_twins else torch.ones(num_nodes).bool()
    listed = first + 2 * num_edges if with_twins else num_messages
    rowptr = torch.empty(num_edges + 1, dtype=index_dtype(2 * num_nodes, num_edges, listed))
    col = kernel.opposite_nodes(edges, keep.numpy(), with_twins, rowptr.numpy())
    height = 2 * num_nodes if with_twins else num_nodes

    source, target = edge_index.to(dtype)
    twice = torch.arange(0, 2 * num_edges + 1, 2, dtype=dtype)
    once = torch.arange(num_nodes + 1, dtype=dtype)
    return {
        'neighbours': Incidence(
            *_group(target, source, num_nodes), *_group(source, target, num_nodes)
        ),
        'endpoints': _with_transpose(twice, torch.from_numpy(edges.T.copy()).flatten(), num_nodes),
        'opposite': _with_transpose(rowptr, torch.from_numpy(col), height).transposed,
        'twins': _with_transpose(once, twin, num_nodes) if with_twins else None,
        'weight': torch.from_numpy(weight),
        'messages': messages,
        'edge_id': torch.where(edge_id < 0, num_edges, edge_id),
        'num_messages': num_messages,
    }


def parts_by_torch(
    edge_index: Tensor, num_nodes: int, triangle_index: Tensor | None
) -> dict[str, Any]:
    """Does the same with torch, for triangles that may be given."""
    graph = simple_graph(edge_index, num_nodes)
    if triangle_index is None:
        triangle_index, opposite = list_triangles(graph)
    else:
        opposite = _opposite_edges(graph, triangle_index)
        _refuse_repeated(triangle_index)

    corner, edge = triangle_index.flatten(), opposite.flatten()
    weight = torch.bincount(edge, minlength=graph.num_edges)
    messages = torch.bincount(corner, minlength=num_nodes)
    used = weight > 0
    new_id = used.cumsum(0) - 1
    edges, weight, edge = graph.edge_index[:, used], weight[used], new_id[edge]
    num_edges, num_messages = weight.numel(), edge.numel()

    twin = _twins(edges, weight, num_nodes)
    is_first = twin == torch.arange(num_nodes, device=twin.device)
    first = int(messages[is_first].sum())
    with_twins = twins_pay(first, num_edges, num_messages)
    id_of_edge = torch.arange(num_edges, device=edge.device)
    height = num_nodes
    if with_twins:
        listed = is_first[corner]
        corner = torch.cat([corner[listed], (edges + num_nodes).flatten()])
        edge = torch.cat([edge[listed], id_of_edge, id_of_edge])
        height = 2 * num_nodes

    source, target = edge_index
    number = torch.arange(num_nodes, device=twin.device)
    edge_id = F.pad(new_id.masked_fill(~used, num_edges), (0, 1), value=num_edges)
    return {
        'neighbours': Incidence.from_pairs(target, source, num_nodes, num_nodes),
        'endpoints': Incidence.from_pairs(
            id_of_edge.repeat_interleave(2), edges.t().flatten(), num_edges, num_nodes
        ),
        'opposite': Incidence.from_pairs(corner, edge, height, num_edges),
        'twins': Incidence.from_pairs(number, twin, num_nodes, num_nodes) if with_twins else None,
        'weight': weight,
        'messages': messages,
        'edge_id': edge_id[graph.edge_id],
        'num_messages': num_messages,
    }


def _group(key: Tensor, value: Tensor, size: int) -> tuple[Tensor, Tensor]:
    from graphgym_nc.kernels import graphs as kernel

    rowptr, grouped = key.new_empty(size + 1), torch.empty_like(value)
    kernel.group(key.numpy(), value.numpy(), rowptr.numpy(), grouped.numpy())
    return rowptr, grouped


def _with_transpose(rowptr: Tensor, col: Tensor, num_cols: int) -> Incidence:
    from graphgym_nc.kernels import graphs as kernel

    rowptr_t, col_t = rowptr.new_empty(num_cols + 1), torch.empty_like(col)
    kernel.transpose(rowptr.numpy(), col.numpy(), rowptr_t.numpy(), col_t.numpy())
    return Incidence(rowptr, col, rowptr_t, col_t)


def _twins(edges: Tensor, weight: Tensor, num_nodes: int) -> Tensor:
    """The first of every node's twins: see
    :meth:`graphgym_nc.kernels.triangles.find_twins`.
    """
    degree = torch.bincount(edges.flatten(), minlength=num_nodes)
    u, v = edges[:, ((degree[edges] - 1) == weight).all(dim=0)]
    number = torch.arange(num_nodes, device=edges.device)
    return number.scatter_reduce(0, v, u, 'amin')


def _refuse_repeated(triangle_index: Tensor) -> None:
    number = triangle_index.sort(dim=0).values.unique(dim=1).size(1)
    if number < triangle_index.size(1):
        raise ValueError(
            f"'triangle_index' holds {triangle_index.size(1)} triangles, but only {number} "
            f'different ones'
        )


def _opposite_edges(graph: SimpleGraph, triangle_index: Tensor) -> Tensor:
    if triangle_index.dim() != 2 or triangle_index.size(0) != 3:
        raise ValueError(
            f"'triangle_index' must have shape [3, T] (got {list(triangle_index.shape)})"
        )
    if triangle_index.is_floating_point():
        raise ValueError(f"'triangle_index' must hold integers (got {triangle_index.dtype})")
    a, b, c = triangle_index.sort(dim=0).values
    edges, exist = zip(graph.find(b, c), graph.find(a, c), graph.find(a, b), strict=True)
    inside = (a >= 0) & (a < b) & (b < c) & (c < graph.num_nodes)
    missing = (~(exist[0] & exist[1] & exist[2] & inside)).nonzero()
    if missing.numel() > 0:
        column = int(missing[0])
        raise ValueError(
            f"'triangle_index' does not belong to 'edge_index': its column {column}, "
            f'{triangle_index[:, column].tolist()}, is no triangle of the graph'
        )
    # Row i of the result must lie opposite row i of the unsorted triangle.
    rank = triangle_index.argsort(dim=0).argsort(dim=0)
    return torch.stack(edges).gather(0, rank)
