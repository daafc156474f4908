"""The nodes opposite to every edge of a simple graph, *i.e.* its triangles.

In small or dense blocks, every node has a
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
_MAX_WORDS = 1 << 23  # bitsets of a block, of which every thread has one, may take 64 MB


@compiled
def count(edges: Array, begin: Array, number: Array) -> None:
    """Counts the nodes opposite to every edge, *i.e.* its triangles.

    Args:
        edges: The edges, of shape :obj:`[2, m]`.
        begin: The blocks, as of :meth:`blocks`.
        number: Takes the counts, of shape :obj:`[m]`.
    """
    bits = np.empty(_bitset_size(begin), np.uint64)
    nowhere = np.empty(0, number.dtype)
    number[:] = 0
    for i in range(len(begin) - 1):
        first, start = begin[i]
        last, stop = begin[i + 1]
        if stop - start < 3:
            continue
        own, own_number = edges[:, start:stop], number[start:stop]
        if not _bits_pay(last - first, stop - start):
            _forward(own, first, last, own_number, nowhere)
            continue
        words = _set_bits(own, first, last, bits)
        for e in range(stop - start):
            u, v = (own[0, e] - first) * words, (own[1, e] - first) * words
            common = np.uint64(0)
            for k in range(words):
                common += _popcount(bits[u + k] & bits[v + k])
            own_number[e] = common


@compiled
def fill(edges: Array, begin: Array, rowptr: Array, opposite: Array) -> None:
    """Lists the nodes opposite to every edge.

    Args:
        edges: The edges, of shape :obj:`[2, m]`.
        begin: The blocks, as of :meth:`blocks`.
        rowptr: Where the nodes of every edge begin, of shape :obj:`[m + 1]`.
        opposite: Takes the nodes, ascending for every edge.
    """
    bits = np.empty(_bitset_size(begin), np.uint64)
    for i in range(len(begin) - 1):
        first, start = begin[i]
        last, stop = begin[i + 1]
        if stop - start < 3:
            continue
        own, own_rowptr = edges[:, start:stop], rowptr[start : stop + 1]
        if not _bits_pay(last - first, stop - start):
            _forward(own, first, last, own_rowptr[:-1].copy(), opposite)
            for e in range(stop - start):
                opposite[own_rowptr[e] : own_rowptr[e + 1]].sort()
            continue
        words = _set_bits(own, first, last, bits)
        for e in range(stop - start):
            u, v = (own[0, e] - first) * words, (own[1, e] - first) * words
            at = own_rowptr[e]
            for k in range(words):
                common = bits[u + k] & bits[v + k]
                while common != 0:
                    opposite[at] = first + k * _WORD + np.int64(_lowest_bit(common))
                    at += 1
                    common &= common - np.uint64(1)


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
def _bitset_size(begin: Array) -> int:
    """The words that the largest bitset of all blocks takes."""
    most = 0
    for i in range(len(begin) - 1):
        nodes, edges = begin[i + 1, 0] - begin[i, 0], begin[i + 1, 1] - begin[i, 1]
        if _bits_pay(nodes, edges):
            most = max(most, _words(nodes) * nodes)
    return most


@compiled
def _set_bits(edges: Array, first: int, last: int, bits: Array) -> int:
    """Sets the bits of a block: a row for every node, with a bit for each of its
    neighbours.

    Returns:
        The words in a row.
    """
    words = _words(last - first)
    bits[: words * (last - first)] = 0
    for e in range(edges.shape[1]):
        u, v = edges[0, e] - first, edges[1, e] - first
        bits[u * words + v // _WORD] |= np.uint64(1) << np.uint64(v % _WORD)
        bits[v * words + u // _WORD] |= np.uint64(1) << np.uint64(u % _WORD)
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
def _forward(edges: Array, first: int, last: int, cursor: Array, opposite: Array) -> None:
    """Lists the triangles of a block by marking the neighbours of one node at a
    time (the forward algorithm of Schank and Wagner, 2005).

    Args:
        edges: The edges of the block.
        first: Its first node.
        last: The one after its last.
        cursor: Where the next node of every edge goes; moved on by one for each.
        opposite: Takes the nodes; if empty, they are only counted.
    """
    node, rowptr, heads, ids = _orient(edges, first, last)
    edge_to = np.full(last - first, -1, edges.dtype)
    for a in range(last - first):
        for i in range(rowptr[a], rowptr[a + 1]):
            edge_to[heads[i]] = ids[i]
        for i in range(rowptr[a], rowptr[a + 1]):
            b = heads[i]
            for j in range(rowptr[b], rowptr[b + 1]):
                c = heads[j]
                if edge_to[c] >= 0:
                    _note(ids[j], node[a], cursor, opposite)
                    _note(edge_to[c], node[b], cursor, opposite)
                    _note(ids[i], node[c], cursor, opposite)
        for i in range(rowptr[a], rowptr[a + 1]):
            edge_to[heads[i]] = -1


@compiled
def _note(edge: int, node: int, cursor: Array, opposite: Array) -> None:
    if opposite.size > 0:
        opposite[cursor[edge]] = node
    cursor[edge] += 1


@compiled
def _orient(edges: Array, first: int, last: int) -> tuple[Array, Array, Array, Array]:
    """Numbers the nodes of a block anew, by descending degree, and gives every
    edge to its end of lower degree. No node has more edges than the root of twice
    their number then; and those that most edges lead to are close to each other
    in memory.

    Returns:
        The node behind every number, where its edges begin, their other ends (as
        numbers), and their ids.
    """
    size = last - first
    degree = np.zeros(size, np.int64)
    for end in edges.ravel():
        degree[end - first] += 1
    most = degree.max()
    begin = np.zeros(most + 2, np.int64)
    for d in degree:
        begin[most - d + 1] += 1
    begin = begin.cumsum()
    node, number = np.empty(size, np.int64), np.empty(size, edges.dtype)
    for v in range(size):
        at = begin[most - degree[v]]
        begin[most - degree[v]] += 1
        node[at], number[v] = first + v, at

    rowptr = np.zeros(size + 1, np.int64)
    for e in range(edges.shape[1]):
        rowptr[max(number[edges[0, e] - first], number[edges[1, e] - first]) + 1] += 1
    for i in range(size):
        rowptr[i + 1] += rowptr[i]
    cursor = rowptr.copy()
    heads, ids = np.empty_like(edges[0]), np.empty_like(edges[0])
    for e in range(edges.shape[1]):
        u, v = number[edges[0, e] - first], number[edges[1, e] - first]
        at = cursor[max(u, v)]
        cursor[max(u, v)] += 1
        heads[at], ids[at] = min(u, v), e
    return node, rowptr, heads, ids
