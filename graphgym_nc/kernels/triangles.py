"""The parts of a :class:`~graphgym_nc.TriangleIncidence`, on the CPU."""

import numpy as np

from graphgym_nc.kernels.graphs import Array, blocks, compiled
from graphgym_nc.kernels.listing import count, fill


@compiled
def weigh(edges: Array, num_nodes: int, edge_id: Array) -> tuple[Array, Array]:
    """The edges on triangles.

    Args:
        edges: The edges of a simple graph, of shape :obj:`[2, m]`.
        num_nodes: The number of nodes.
        edge_id: Numbers of edges (:obj:`-1` for none), to be replaced by those
            among the edges on triangles (:obj:`-1` for any other).

    Returns:
        The edges on triangles, and the number of triangles on each.
    """
    weight = np.empty(edges.shape[1], edge_id.dtype)
    count(edges, blocks(edges, num_nodes), weight)
    size = np.count_nonzero(weight)
    if size == weight.size:
        return edges, weight

    kept, kept_weight = np.empty((2, size), edges.dtype), np.empty(size, weight.dtype)
    new_id = np.empty(weight.size, edge_id.dtype)
    number = 0
    for e in range(weight.size):
        new_id[e] = -1
        if weight[e] > 0:
            new_id[e] = number
            kept[0, number], kept[1, number] = edges[0, e], edges[1, e]
            kept_weight[number] = weight[e]
            number += 1
    for i in range(edge_id.size):
        if edge_id[i] >= 0:
            edge_id[i] = new_id[edge_id[i]]
    return kept, kept_weight


@compiled
def find_twins(edges: Array, weight: Array, degree: Array, twin: Array, messages: Array) -> None:
    """Finds nodes with the same closed neighbourhood.

    Two nodes have it if and only if they are adjacent, and the triangles on their
    edge are as many as the other neighbours of either.

    Args:
        edges: The edges on triangles, of shape :obj:`[2, m]`.
        weight: The number of triangles on each.
        degree: The number of all edges at every node, of shape :obj:`[num_nodes]`.
        twin: Takes the first of every node's twins, of shape :obj:`[num_nodes]`.
        messages: Takes the number of triangles at every node.
    """
    messages[:] = 0
    for e in range(weight.size):
        u, v = edges[0, e], edges[1, e]
        messages[u] += weight[e]
        messages[v] += weight[e]
    for v in range(twin.size):
        twin[v] = v
        messages[v] //= 2
    for e in range(weight.size):  # the first twin of a node is its first neighbour among them
        u, v = edges[0, e], edges[1, e]
        if twin[v] == v and degree[u] == degree[v] == weight[e] + 1:
            twin[v] = twin[u]


@compiled
def opposite_nodes(edges: Array, num_nodes: int, rowptr: Array) -> Array:
    """Lists the nodes opposite to every edge, in the type of :obj:`rowptr`.

    Args:
        edges: The edges, of shape :obj:`[2, m]`.
        num_nodes: The number of nodes.
        rowptr: Where the nodes of every edge begin, of shape :obj:`[m + 1]`.
    """
    opposite = np.empty(rowptr[-1], rowptr.dtype)
    fill(edges, blocks(edges, num_nodes), rowptr, opposite)
    return opposite


@compiled
def pair_up(edges: Array, twin: Array, pair: Array) -> Array:
    """Numbers the pairs of nodes, each the first of its twins, whose twins are
    joined by edges: all of one's to all of the other's, or to each other.

    Args:
        edges: The edges on triangles, of shape :obj:`[2, m]`.
        twin: The first of every node's twins.
        pair: Takes the pair of every edge, of shape :obj:`[m]`.

    Returns:
        The first edge of every pair, ascending. It has the two nodes as its ends,
        or else the node and the second of its twins.
    """
    begin = np.zeros(twin.size + 1, np.int64)
    for u in edges[0]:
        begin[u + 1] += 1
    begin = begin.cumsum()

    within = np.full(twin.size, -1, pair.dtype)
    first = np.empty(pair.size, pair.dtype)
    number = 0
    for e in range(pair.size):
        u, v = edges[0, e], edges[1, e]
        if twin[u] == u and (twin[v] == v or (twin[v] == u and within[u] < 0)):
            if twin[v] == u:
                within[u] = number
            pair[e], first[number] = number, e
            number += 1
    for e in range(pair.size):
        a, b = twin[edges[0, e]], twin[edges[1, e]]
        if a == b:
            pair[e] = within[a]
        elif edges[0, e] != a or edges[1, e] != b:
            low, high = min(a, b), max(a, b)
            heads = edges[1, begin[low] : begin[low + 1]]
            pair[e] = pair[begin[low] + np.searchsorted(heads, high)]
    return first[:number].copy()


@compiled
def common_first_twins(edges: Array, twin: Array, first: Array, rowptr: Array) -> Array:
    """Lists the common neighbours of the ends of every pair's first edge, and
    these ends, as far as they are first twins: in the type of :obj:`rowptr`.

    Args:
        edges: The edges on triangles, of shape :obj:`[2, m]`.
        twin: The first of every node's twins, of shape :obj:`[num_nodes]`.
        first: The first edge of every pair, as of :meth:`pair_up`.
        rowptr: Takes where the nodes of every pair begin, of shape
            :obj:`[len(first) + 1]`.
    """
    joined = np.empty((2, first.size), edges.dtype)  # the edges among first twins
    within = np.full(twin.size, -1, np.int64)
    degree = np.zeros(twin.size, np.int64)
    number = 0
    for p in range(first.size):
        u, v = edges[0, first[p]], edges[1, first[p]]
        if twin[v] == u:
            within[u] = p
        else:
            joined[0, number], joined[1, number] = u, v
            number += 1
            degree[u] += 1
            degree[v] += 1
    joined = joined[:, :number].copy()
    begin = blocks(joined, twin.size)
    opposite_rowptr = np.zeros(number + 1, rowptr.dtype)
    count(joined, begin, opposite_rowptr[1:])
    opposite_rowptr = opposite_rowptr.cumsum().astype(rowptr.dtype)
    opposite = np.empty(opposite_rowptr[-1], rowptr.dtype)
    fill(joined, begin, opposite_rowptr, opposite)

    rowptr[0] = k = 0
    for p in range(first.size):
        u, v = edges[0, first[p]], edges[1, first[p]]
        if twin[v] == u:
            rowptr[p + 1] = rowptr[p] + degree[u] + 1
        else:
            rowptr[p + 1] = rowptr[p] + opposite_rowptr[k + 1] - opposite_rowptr[k] + 2
            k += 1
    common = np.empty(rowptr[-1], rowptr.dtype)
    cursor = rowptr[:-1].copy()
    k = 0
    for p in range(first.size):
        u, v = edges[0, first[p]], edges[1, first[p]]
        common[cursor[p]] = u
        cursor[p] += 1
        if twin[v] == u:
            continue
        common[cursor[p]] = v
        cursor[p] += 1
        for i in range(opposite_rowptr[k], opposite_rowptr[k + 1]):
            common[cursor[p]] = opposite[i]
            cursor[p] += 1
        k += 1
        for end, other in ((u, v), (v, u)):
            if within[end] >= 0:
                common[cursor[within[end]]] = other
                cursor[within[end]] += 1
    return common


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
