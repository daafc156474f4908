"""Graphs and sparse matrices, on the CPU.

A simple graph has edges :math:`(u, v)` with :math:`u < v`, each once, in
lexicographic order, numbered as they come. A *block* is a range of consecutive
nodes that no edge leaves, such as a graph of a batch.
"""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from graphgym_nc.kernels.openmp import cached

Array = NDArray[Any]

compiled = cached(njit, nogil=True)


@compiled
def simple_edges(edge_index: Array, num_nodes: int, edge_id: Array) -> Array:
    """The simple graph behind :obj:`edge_index`.

    Args:
        edge_index: Any edges, of shape :obj:`[2, E]`.
        num_nodes: The number of nodes.
        edge_id: Takes the edge that every column stands for, :obj:`-1` for a
            loop, of shape :obj:`[E]`.

    Returns:
        The edges, of shape :obj:`[2, m]`.
    """
    if _is_sorted(edge_index):
        edges, symmetric = _upper_half(edge_index, num_nodes, edge_id)
        if symmetric:
            return edges
    columns = edge_index.shape[1]
    by_high = np.zeros(num_nodes + 1, np.int64)
    by_low = np.zeros(num_nodes + 1, np.int64)
    for i in range(columns):
        a, b = edge_index[0, i], edge_index[1, i]
        if a != b:
            by_high[max(a, b) + 1] += 1
            by_low[min(a, b) + 1] += 1
    for node in range(num_nodes):
        by_high[node + 1] += by_high[node]
        by_low[node + 1] += by_low[node]
    total = by_high[num_nodes]

    # Two stable counting sorts: by the higher end, then by the lower.
    half_sorted = np.empty(total, edge_id.dtype)
    order = np.empty(total, edge_id.dtype)
    for i in range(columns):
        a, b = edge_index[0, i], edge_index[1, i]
        if a != b:
            half_sorted[by_high[max(a, b)]] = i
            by_high[max(a, b)] += 1
        else:
            edge_id[i] = -1
    for i in half_sorted:
        low = min(edge_index[0, i], edge_index[1, i])
        order[by_low[low]] = i
        by_low[low] += 1

    edges = np.empty((2, total), edge_id.dtype)
    number = 0
    for i in order:
        a, b = edge_index[0, i], edge_index[1, i]
        u, v = min(a, b), max(a, b)
        if number == 0 or edges[0, number - 1] != u or edges[1, number - 1] != v:
            edges[0, number] = u
            edges[1, number] = v
            number += 1
        edge_id[i] = number - 1
    return edges[:, :number].copy()


@compiled
def _is_sorted(edge_index: Array) -> bool:
    """Whether columns come in lexicographic order, none of them twice, and none
    of them a loop.
    """
    for i in range(edge_index.shape[1]):
        if edge_index[0, i] == edge_index[1, i]:
            return False
        if i > 0 and edge_index[0, i] <= edge_index[0, i - 1]:
            same = edge_index[0, i] == edge_index[0, i - 1]
            if not same or edge_index[1, i] <= edge_index[1, i - 1]:
                return False
    return True


@compiled
def _upper_half(edge_index: Array, num_nodes: int, edge_id: Array) -> tuple[Array, bool]:
    """The columns (u, v) with u < v of sorted edges, and whether every other
    column is the reverse of one of them, as it usually is.
    """
    edges = np.empty((2, edge_index.shape[1] // 2), edge_id.dtype)
    following = np.zeros(num_nodes, np.int64)  # the next edge of every node, by its other end
    number = 0
    for i in range(edge_index.shape[1]):
        u, v = edge_index[0, i], edge_index[1, i]
        if u < v:
            if number == edges.shape[1]:
                return edges, False
            edges[0, number], edges[1, number] = u, v
            if number == 0 or edges[0, number - 1] != u:
                following[u] = number
            edge_id[i] = number
            number += 1
    for i in range(edge_index.shape[1]):
        v, u = edge_index[0, i], edge_index[1, i]
        if u < v:
            e = following[u]
            if e >= number or edges[0, e] != u or edges[1, e] != v:
                return edges, False
            edge_id[i] = e
            following[u] += 1
    return edges, 2 * number == edge_index.shape[1]


@compiled
def blocks(edges: Array, num_nodes: int) -> Array:
    """Where every block begins: its first node and edge, of shape
    :obj:`[blocks + 1, 2]`.
    """
    begin = np.empty((num_nodes + 1, 2), np.int64)
    number = edge = 0
    reach = -1
    for node in range(num_nodes):
        if node > reach:
            begin[number, 0] = node
            begin[number, 1] = edge
            number += 1
            reach = node
        while edge < edges.shape[1] and edges[0, edge] == node:
            reach = max(reach, edges[1, edge])
            edge += 1
    begin[number, 0] = num_nodes
    begin[number, 1] = edges.shape[1]
    return begin[: number + 1]


@compiled
def entries(rowptr: Array, row: int) -> Any:
    """Where the entries of a row are. Unsigned: numba then looks for no negative index."""
    return range(np.uint64(rowptr[row]), np.uint64(rowptr[np.uint64(row) + np.uint64(1)]))


@compiled
def transpose(rowptr: Array, col: Array, rowptr_t: Array, col_t: Array) -> None:
    """Transposes a sparse 0/1 matrix; its columns come out ascending."""
    rowptr_t[:] = 0
    for c in col:
        rowptr_t[np.uint64(c) + np.uint64(1)] += 1
    for i in range(rowptr_t.size - 1):
        rowptr_t[i + 1] += rowptr_t[i]
    list_rows(rowptr, col, rowptr_t, col_t, (0, rowptr.size - 1), (0, rowptr_t.size - 1))


@compiled
def list_rows(
    rowptr: Array,
    col: Array,
    rowptr_t: Array,
    col_t: Array,
    rows: tuple[int, int],
    columns: tuple[int, int],
) -> None:
    """Lists a range of rows in all their columns, in a range that no other row has entries in,
    given where every column begins.
    """
    first, cursor = np.uint64(columns[0]), rowptr_t[columns[0] : columns[1]].copy()
    for row in range(rows[0], rows[1]):
        for i in entries(rowptr, row):
            c = np.uint64(col[i]) - first
            col_t[np.uint64(cursor[c])] = row
            cursor[c] += 1


@compiled
def group(key: Array, value: Array, rowptr: Array, grouped: Array) -> None:
    """Groups values by their keys, in the order in which they come."""
    rowptr[:] = 0
    for k in key:
        rowptr[np.uint64(k) + np.uint64(1)] += 1
    for i in range(rowptr.size - 1):
        rowptr[i + 1] += rowptr[i]
    cursor = rowptr.copy()
    for i in range(key.size):
        k = np.uint64(key[i])
        grouped[np.uint64(cursor[k])] = value[i]
        cursor[k] += 1
