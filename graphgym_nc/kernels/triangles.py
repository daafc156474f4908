"""Lists triangles on the CPU.

Graphs here are simple and undirected: edges :math:`(u, v)` with
:math:`u < v`, each once, in lexicographic order, numbered as they come. A
*block* is a range of consecutive nodes that no edge leaves, such as a graph of
a batch.
"""

from typing import Any

import numpy as np
from numba import njit, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from graphgym_nc.kernels.openmp import cached

Array = NDArray[Any]

_WORD = 64
_MAX_WORDS = 1 << 23  # bitsets of a block may take 64 MB

compiled = cached(njit, nogil=True)


@intrinsic
def _popcount(context: Any, word: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return word(word), codegen


@intrinsic
def _lowest_bit(context: Any, word: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        defined_for_zero = context.get_constant(types.boolean, False)
        return builder.cttz(args[0], defined_for_zero)

    return word(word), codegen


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
def transpose(rowptr: Array, col: Array, rowptr_t: Array, col_t: Array) -> None:
    """Transposes a sparse 0/1 matrix; its columns come out ascending."""
    rowptr_t[:] = 0
    for c in col:
        rowptr_t[np.uint64(c) + np.uint64(1)] += 1
    for i in range(rowptr_t.size - 1):
        rowptr_t[i + 1] += rowptr_t[i]
    cursor = rowptr_t.copy()
    for row in range(rowptr.size - 1):
        for i in range(rowptr[row], rowptr[row + 1]):
            c = np.uint64(col[i])  # unsigned: numba then looks for no negative index
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


@compiled
def copy_shifted(
    source: Array, begin: Array, end: Array, shift: Array, border: int, beyond: Array, out: Array
) -> None:
    """Copies ranges one after the other, and adds :obj:`shift` to the values in
    each, or :obj:`beyond` to those from :obj:`border` on.
    """
    at = 0
    for k in range(begin.size):
        for i in range(begin[k], end[k]):
            out[at] = source[i] + (shift[k] if source[i] < border else beyond[k])
            at += 1


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
def bitset_size(begin: Array) -> int:
    """The words that the largest bitset of all blocks takes."""
    most = 0
    for i in range(len(begin) - 1):
        nodes, edges = begin[i + 1, 0] - begin[i, 0], begin[i + 1, 1] - begin[i, 1]
        if _bits_pay(nodes, edges):
            most = max(most, _words(nodes) * (nodes + 1))
    return most


@compiled
def count(edges: Array, begin: Array, keep: Array, bits: Array, number: Array) -> None:
    """Counts the nodes opposite to every edge, *i.e.* its triangles.

    Args:
        edges: The edges, of shape :obj:`[2, m]`.
        begin: The blocks, as of :meth:`blocks`.
        keep: Which nodes to count, of shape :obj:`[num_nodes]`.
        bits: Room for a bitset, of :meth:`bitset_size` words.
        number: Takes the counts, of shape :obj:`[m]`.
    """
    nowhere = np.empty(0, number.dtype)
    number[:] = 0
    for i in range(len(begin) - 1):
        first, start = begin[i]
        last, stop = begin[i + 1]
        if stop - start < 3:
            continue
        own, own_number = edges[:, start:stop], number[start:stop]
        if not _bits_pay(last - first, stop - start):
            _forward(own, first, last, keep, own_number, nowhere)
            continue
        words = _set_bits(own, first, last, keep, bits)
        kept = bits[(last - first) * words :]
        for e in range(stop - start):
            u, v = (own[0, e] - first) * words, (own[1, e] - first) * words
            common = np.uint64(0)
            for k in range(words):
                common += _popcount(bits[u + k] & bits[v + k] & kept[k])
            own_number[e] = common


@compiled
def fill(
    edges: Array, begin: Array, keep: Array, bits: Array, cursor: Array, opposite: Array
) -> None:
    """Lists the nodes opposite to every edge.

    Args:
        edges: The edges, of shape :obj:`[2, m]`.
        begin: The blocks, as of :meth:`blocks`.
        keep: Which nodes to list, of shape :obj:`[num_nodes]`.
        bits: Room for a bitset, of :meth:`bitset_size` words.
        cursor: Where the nodes of every edge are to begin, of shape :obj:`[m]`;
            moved to where they end.
        opposite: Takes the nodes, ascending for every edge.
    """
    for i in range(len(begin) - 1):
        first, start = begin[i]
        last, stop = begin[i + 1]
        if stop - start < 3:
            continue
        own, own_cursor = edges[:, start:stop], cursor[start:stop]
        if not _bits_pay(last - first, stop - start):
            begins = own_cursor.copy()
            _forward(own, first, last, keep, own_cursor, opposite)
            for e in range(stop - start):
                opposite[begins[e] : own_cursor[e]].sort()
            continue
        words = _set_bits(own, first, last, keep, bits)
        kept = bits[(last - first) * words :]
        for e in range(stop - start):
            u, v = (own[0, e] - first) * words, (own[1, e] - first) * words
            at = own_cursor[e]
            for k in range(words):
                common = bits[u + k] & bits[v + k] & kept[k]
                while common != 0:
                    opposite[at] = first + k * _WORD + np.int64(_lowest_bit(common))
                    at += 1
                    common &= common - np.uint64(1)
            own_cursor[e] = at


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


@compiled
def _words(num_nodes: int) -> int:
    return (num_nodes + _WORD - 1) // _WORD


@compiled
def _bits_pay(num_nodes: int, num_edges: int) -> bool:
    """Whether bitsets are faster than lists: their rows are about as short as
    lists of neighbours.
    """
    size = _words(num_nodes) * num_nodes
    return size <= _MAX_WORDS and size <= 8 * num_nodes + num_edges


@compiled
def _set_bits(edges: Array, first: int, last: int, keep: Array, bits: Array) -> int:
    """Sets the bits of a block: a row for every node, with a bit for each of its
    neighbours, and one for the nodes to keep.

    Returns:
        The words in a row.
    """
    words = _words(last - first)
    bits[: words * (last - first + 1)] = 0
    for e in range(edges.shape[1]):
        u, v = edges[0, e] - first, edges[1, e] - first
        bits[u * words + v // _WORD] |= np.uint64(1) << np.uint64(v % _WORD)
        bits[v * words + u // _WORD] |= np.uint64(1) << np.uint64(u % _WORD)
    kept = bits[(last - first) * words :]
    for v in range(last - first):
        if keep[first + v]:
            kept[v // _WORD] |= np.uint64(1) << np.uint64(v % _WORD)
    return words


@compiled
def _forward(
    edges: Array, first: int, last: int, keep: Array, cursor: Array, opposite: Array
) -> None:
    """Lists the triangles of a block by marking the neighbours of one node at a
    time (the forward algorithm of Schank and Wagner, 2005).
    """
    rowptr, heads, ids = _orient(edges, first, last)
    edge_to = np.full(last - first, -1, np.int64)
    for a in range(last - first):
        for i in range(rowptr[a], rowptr[a + 1]):
            edge_to[heads[i]] = ids[i]
        for i in range(rowptr[a], rowptr[a + 1]):
            b = heads[i]
            for j in range(rowptr[b], rowptr[b + 1]):
                c = heads[j]
                if edge_to[c] >= 0:
                    _note(ids[j], first + a, keep, cursor, opposite)
                    _note(edge_to[c], first + b, keep, cursor, opposite)
                    _note(ids[i], first + c, keep, cursor, opposite)
        for i in range(rowptr[a], rowptr[a + 1]):
            edge_to[heads[i]] = -1


@compiled
def _note(edge: int, node: int, keep: Array, cursor: Array, opposite: Array) -> None:
    if keep[node]:
        if opposite.size > 0:
            opposite[cursor[edge]] = node
        cursor[edge] += 1


@compiled
def _orient(edges: Array, first: int, last: int) -> tuple[Array, Array, Array]:
    """Gives every edge of a block to its end of lower degree, so that none has
    more than the root of twice their number.

    Returns:
        Where the edges of every node begin, their other ends, and their ids.
    """
    degree = np.zeros(last - first, np.int64)
    for end in edges.ravel():
        degree[end - first] += 1
    tail, head = np.empty_like(edges[0]), np.empty_like(edges[0])
    rowptr = np.zeros(last - first + 1, np.int64)
    for e in range(edges.shape[1]):
        u, v = edges[0, e] - first, edges[1, e] - first
        tail[e], head[e] = (v, u) if degree[u] > degree[v] else (u, v)
        rowptr[tail[e] + 1] += 1
    for i in range(last - first):
        rowptr[i + 1] += rowptr[i]
    cursor = rowptr.copy()
    heads, ids = np.empty_like(tail), np.empty_like(tail)
    for e in range(edges.shape[1]):
        at = cursor[tail[e]]
        cursor[tail[e]] += 1
        heads[at], ids[at] = head[e], e
    return rowptr, heads, ids
