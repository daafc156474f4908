"""The parts of a :class:`~graphgym_nc.TriangleIncidence`, by kernels on the CPU
or by torch on any device: the same matrices, whichever way.
"""

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from graphgym_nc.triangles.csr import CSR, index_dtype
from graphgym_nc.triangles.listing import list_triangles
from graphgym_nc.triangles.simple_graph import SimpleGraph, check_edge_index, simple_graph
from graphgym_nc.triangles.twins import Twins, twins_pay


def parts_by_kernels(edge_index: Tensor, num_nodes: int) -> dict[str, Any]:
    """Finds the triangles, and all that depends on them, with kernels."""
    from graphgym_nc.kernels import graphs, triangles

    num_nodes = check_edge_index(edge_index, num_nodes)
    edge_index = edge_index.contiguous()
    dtype = index_dtype(num_nodes, 2 * edge_index.size(1))
    edge_id = torch.empty(edge_index.size(1), dtype=dtype)
    edges = graphs.simple_edges(edge_index.numpy(), num_nodes, edge_id.numpy())
    degree = np.bincount(edges.ravel(), minlength=num_nodes)
    edges, weight = triangles.weigh(edges, num_nodes, edge_id.numpy())
    num_edges, num_messages = weight.size, int(weight.sum(dtype='int64'))
    ends = torch.from_numpy(edges)

    twin, pair = torch.empty(num_nodes, dtype=dtype), torch.empty(num_edges, dtype=dtype)
    messages = torch.empty(num_nodes, dtype=torch.long)
    triangles.find_twins(edges, weight, degree, twin.numpy(), messages.numpy())
    first = triangles.pair_up(edges, twin.numpy(), pair.numpy())
    wide = index_dtype(num_nodes + num_edges, num_messages + 3 * num_edges)
    twins = None
    if twins_pay(first.size, num_edges, num_messages):
        rowptr = torch.empty(first.size + 1, dtype=wide)
        col = triangles.common_first_twins(edges, twin.numpy(), first, rowptr.numpy())
        opposite = CSR.from_rows(rowptr, torch.from_numpy(col), num_nodes)
        sums = torch.stack([pair, *(ends.to(wide) + first.size)], dim=1)
        twins = Twins(
            CSR.from_lists(sums, first.size + num_nodes).transposed,
            CSR.from_lists(twin[:, None], num_nodes),
        )
    else:
        rowptr = F.pad(torch.from_numpy(weight).cumsum(0, dtype=wide), (1, 0))
        opposite = _opposite(ends, messages, rowptr, num_messages)

    return {
        'neighbours': neighbours_by_kernels(edge_index, num_nodes),
        'endpoints': CSR.from_lists(ends.t(), num_nodes),
        'opposite': opposite.transposed,
        'twins': twins,
        'weight': torch.from_numpy(weight),
        'messages': messages,
        'edge_id': torch.where(edge_id < 0, num_edges, edge_id),
        'num_messages': num_messages,
    }


def neighbours_by_kernels(edge_index: Tensor, num_nodes: int) -> CSR:
    """Nodes times nodes: the sources of every node's edges."""
    source, target = edge_index.to(index_dtype(num_nodes, edge_index.size(1))).contiguous()
    return CSR(*_group(target, source, num_nodes), *_group(source, target, num_nodes))


def parts_by_torch(
    edge_index: Tensor, num_nodes: int, triangle_index: Tensor | None
) -> dict[str, Any]:
    """Finds the triangles, unless they are given, and all that depends on them, with torch."""
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

    degree = torch.bincount(graph.edge_index.flatten(), minlength=num_nodes)
    twin = _twins(edges, weight, degree)
    pair, first = _pairs(edges, twin)
    id_of_edge = torch.arange(num_edges, device=edge.device)
    twins, width = None, num_edges
    if twins_pay(first.numel(), num_edges, num_messages):
        node = torch.arange(num_nodes, device=twin.device)
        width = first.numel()
        sums = torch.cat([pair, *(edges + width)])
        twins = Twins(
            CSR.from_pairs(sums, id_of_edge.repeat(3), width + num_nodes, num_edges),
            CSR.from_pairs(node, twin, num_nodes, num_nodes),
        )
        # The common neighbours of both ends, and these, as far as they are first twins.
        corner = torch.cat([corner, *edges[:, first]])
        edge = torch.cat([edge, first, first])
        is_listed = torch.zeros_like(id_of_edge).bool().index_fill_(0, first, True)
        listed = is_listed[edge] & (twin[corner] == corner)
        corner, edge = corner[listed], pair[edge[listed]]

    endpoints = CSR.from_pairs(
        id_of_edge.repeat_interleave(2), edges.t().flatten(), num_edges, num_nodes
    )
    source, target = edge_index
    edge_id = F.pad(new_id.masked_fill(~used, num_edges), (0, 1), value=num_edges)
    return {
        'neighbours': CSR.from_pairs(target, source, num_nodes, num_nodes),
        'endpoints': endpoints,
        'opposite': CSR.from_pairs(corner, edge, num_nodes, width),
        'twins': twins,
        'weight': weight.to(endpoints.col.dtype),
        'messages': messages,
        'edge_id': edge_id[graph.edge_id],
        'num_messages': num_messages,
    }


def _group(key: Tensor, value: Tensor, size: int) -> tuple[Tensor, Tensor]:
    from graphgym_nc.kernels import graphs as kernel

    rowptr, grouped = key.new_empty(size + 1), torch.empty_like(value)
    kernel.group(key.numpy(), value.numpy(), rowptr.numpy(), grouped.numpy())
    return rowptr, grouped


def _opposite(edges: Tensor, messages: Tensor, rowptr: Tensor, num_messages: int) -> CSR:
    """Edges times nodes: the nodes opposite to every edge."""
    from graphgym_nc.kernels import graphs, opposite
    from graphgym_nc.kernels.openmp import launch, threads_for

    num_nodes = messages.numel()
    begin = torch.from_numpy(graphs.blocks(edges.numpy(), num_nodes))
    col, col_t = rowptr.new_empty(num_messages), rowptr.new_empty(num_messages)
    parts = rowptr, col, F.pad(messages.cumsum(0, dtype=rowptr.dtype), (1, 0)), col_t
    if edges.dtype == rowptr.dtype == torch.int32:
        blocks, threads = begin.size(0) - 1, threads_for(num_messages)
        done = torch.zeros(threads, dtype=torch.int32)
        launch(
            opposite.list_opposite_in_parts, blocks, edges.size(1), num_nodes, num_messages,
            begin.int(), edges, *parts, done, threads=threads,
        )  # fmt: skip
        if done.sum() != blocks:
            raise MemoryError('there is not enough memory to list the triangles of a batch')
    else:
        opposite.list_opposite(edges.numpy(), begin.numpy(), *(part.numpy() for part in parts))
    return CSR(*parts)


def _twins(edges: Tensor, weight: Tensor, degree: Tensor) -> Tensor:
    """The first of every node's twins: see
    :meth:`graphgym_nc.kernels.triangles.find_twins`.
    """
    u, v = edges[:, ((degree[edges] - 1) == weight).all(dim=0)]
    number = torch.arange(degree.numel(), device=edges.device)
    return number.scatter_reduce(0, v, u, 'amin')


def _pairs(edges: Tensor, twin: Tensor) -> tuple[Tensor, Tensor]:
    """The pair of every edge and the first edge of every pair: see
    :meth:`graphgym_nc.kernels.triangles.pair_up`.
    """
    low, high = twin[edges].sort(dim=0).values
    key, pair = (low * twin.numel() + high).unique(return_inverse=True)
    edge = torch.arange(pair.numel(), device=pair.device)
    first = torch.full_like(key, pair.numel()).scatter_reduce(0, pair, edge, 'amin')
    first, order = first.sort()
    return order.argsort()[pair], first


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
