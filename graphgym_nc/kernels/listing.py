"""The nodes opposite to every edge of a simple graph, *i.e.* its triangles.

Blocks are done one after the other. In small or dense ones, every node has a
bitset of its neighbours, and what two of them have in common lies opposite to
their edge. In large and sparse ones, triangles are found by the forward
algorithm.
"""

from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic

from graphgym_nc.kernels.graphs import Array, compiled

_WORD = 64
_MAX_WORDS = 1 << 23  # bitsets of a block may take 64 MB


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
