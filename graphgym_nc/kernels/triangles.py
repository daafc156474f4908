"""The parts of a :class:`~graphgym_nc.TriangleIncidence`, on the CPU."""

import numpy as np

from graphgym_nc.kernels.graphs import Array, blocks, compiled, simple_edges
from graphgym_nc.kernels.listing import bitset_size, count, fill


@compiled
def weigh(edge_index: Array, num_nodes: int, edge_id: Array) -> tuple[Array, Array]:
    """The edges on triangles of the simple graph behind :obj:`edge_index`.

    Args:
        edge_index: Any edges, of shape :obj:`[2, E]`.
        num_nodes: The number of nodes.
        edge_id: Takes the edge that every column stands for, :obj:`-1` if it lies
            on no triangle, of shape :obj:`[E]`.

    Returns:
        The edges, of shape :obj:`[2, m]`, and the number of triangles on each.
    """
    edges = simple_edges(edge_index, num_nodes, edge_id)
    begin = blocks(edges, num_nodes)
    bits = np.empty(bitset_size(begin), np.uint64)
    weight = np.empty(edges.shape[1], edge_id.dtype)
    count(edges, begin, np.ones(num_nodes, np.bool_), bits, weight)

    new_id = np.empty(edges.shape[1], edge_id.dtype)
    number = 0
    for e in range(edges.shape[1]):
        new_id[e] = -1
        if weight[e] > 0:
            new_id[e] = number
            edges[0, number], edges[1, number] = edges[0, e], edges[1, e]
            weight[number] = weight[e]
            number += 1
    for i in range(edge_id.size):
        if edge_id[i] >= 0:
            edge_id[i] = new_id[edge_id[i]]
    return edges[:, :number].copy(), weight[:number].copy()


@compiled
def find_twins(edges: Array, weight: Array, twin: Array, messages: Array) -> int:
    """Finds nodes with the same closed neighbourhood.

    Two nodes have it if and only if they are adjacent, and the triangles on their
    edge are as many as the other neighbours of either.

    Args:
        edges: The edges on triangles, of shape :obj:`[2, m]`.
        weight: The number of triangles on each.
        twin: Takes the first of every node's twins, of shape :obj:`[num_nodes]`.
        messages: Takes the number of triangles at every node.

    Returns:
        The number of messages to first twins alone.
    """
    degree = np.zeros(twin.size, np.int64)
    messages[:] = 0
    for e in range(weight.size):
        u, v = edges[0, e], edges[1, e]
        degree[u] += 1
        degree[v] += 1
        messages[u] += weight[e]
        messages[v] += weight[e]
    for v in range(twin.size):
        twin[v] = v
        messages[v] //= 2
    for e in range(weight.size):  # the first twin of a node is its first neighbour among them
        u, v = edges[0, e], edges[1, e]
        if twin[v] == v and degree[u] == degree[v] == weight[e] + 1:
            twin[v] = twin[u]
    first = 0
    for v in range(twin.size):
        if twin[v] == v:
            first += messages[v]
    return first


@compiled
def opposite_nodes(edges: Array, keep: Array, ends: bool, rowptr: Array) -> Array:
    """Lists the nodes opposite to every edge, in the type of :obj:`rowptr`.

    Args:
        edges: The edges on triangles, of shape :obj:`[2, m]`.
        keep: Which nodes to list, of shape :obj:`[num_nodes]`.
        ends: Whether the ends of an edge follow, as :math:`n + u` and
            :math:`n + v`.
        rowptr: Takes where the nodes of every edge begin, of shape
            :obj:`[m + 1]`.
    """
    begin = blocks(edges, keep.size)
    bits = np.empty(bitset_size(begin), np.uint64)
    count(edges, begin, keep, bits, rowptr[1:])
    rowptr[0] = 0
    for e in range(edges.shape[1]):
        rowptr[e + 1] += rowptr[e] + (2 if ends else 0)
    opposite = np.empty(rowptr[-1], rowptr.dtype)
    cursor = rowptr[:-1].copy()
    fill(edges, begin, keep, bits, cursor, opposite)
    if ends:
        for e in range(edges.shape[1]):
            opposite[cursor[e]] = keep.size + edges[0, e]
            opposite[cursor[e] + 1] = keep.size + edges[1, e]
    return opposite


@compiled
def corners(edges: Array, rowptr: Array, opposite: Array, triangles: Array) -> None:
    """The triangles, each once, from the nodes opposite to every edge."""
    number = 0
    for e in range(edges.shape[1]):
        for i in range(rowptr[e], rowptr[e + 1]):
            if opposite[i] > edges[1, e]:
                triangles[0, number] = edges[0, e]
                triangles[1, number] = edges[1, e]
                triangles[2, number] = opposite[i]
                number += 1
