"""What lies among the neighbours that a node has at one hop, on the CPU."""

import numpy as np

from graphgym_nc.kernels.graphs import Array, compiled
from graphgym_nc.kernels.listing import _WORD, _lowest_bit, _popcount


@compiled
def peripheral(
    rowptr: Array,
    col: Array,
    kind: Array,
    hop_rowptr: Array,
    hop_col: Array,
    edges: Array,
    levels: Array,
) -> None:
    """Describes the subgraph that every node's neighbours at one hop induce, by bitsets: see
    :meth:`graphgym_nc.structures.peripheral.describe`.

    Args:
        rowptr: Where the neighbours of every node begin, of shape :obj:`[n + 1]`.
        col: The neighbours.
        kind: The type of the edge to each.
        hop_rowptr: The same as :obj:`rowptr`, of the neighbours at one hop.
        hop_col: The neighbours at this hop.
        edges: Takes the number of edges of every type, of shape :obj:`[n, types]`.
        levels: Takes, behind the weighted number of edges inside of a level, the number of pairs
            at every distance, of shape :obj:`[n, levels + 1]`.
    """
    place = np.full(rowptr.size - 1, -1, np.int64)
    types, one = edges.shape[1], np.uint64(1)
    for v in range(rowptr.size - 1):
        nodes = hop_col[hop_rowptr[v] : hop_rowptr[v + 1]]
        size, words = nodes.size, (nodes.size + _WORD - 1) // _WORD
        for i in range(size):
            place[nodes[i]] = i
        bits = np.zeros((types, size, words), np.uint64)
        for i in range(size):
            for e in range(rowptr[nodes[i]], rowptr[nodes[i] + 1]):
                j = place[col[e]]
                if j >= 0:
                    bits[kind[e], i, j // _WORD] |= one << np.uint64(j % _WORD)
                    edges[v, kind[e]] += 1
        for i in range(size):
            place[nodes[i]] = -1
        if edges[v].sum() > 0:
            near = bits[0] if types == 1 else _union(bits)
            scratch = np.empty((3, words), np.uint64)
            for i in range(size):
                _search(near, bits, i, scratch, levels[v])


@compiled
def _union(bits: Array) -> Array:
    union = bits[0].copy()
    for t in range(1, bits.shape[0]):
        union |= bits[t]
    return union


@compiled
def _search(near: Array, bits: Array, start: int, scratch: Array, levels: Array) -> None:
    """Searches one subgraph, breadth first, as deep as there are levels to count."""
    words, one = near.shape[1], np.uint64(1)
    seen, level, following = scratch
    seen[:] = 0
    level[:] = 0
    level[start // _WORD] = one << np.uint64(start % _WORD)
    for depth in range(1, levels.size):
        following[:] = 0
        for w in range(words):
            seen[w] |= level[w]
            left = level[w]
            while left != 0:
                i = _WORD * w + np.int64(_lowest_bit(left))
                left &= left - one
                for k in range(words):
                    following[k] |= near[i, k]
        number = np.uint64(0)
        for w in range(words):
            level[w] = following[w] & ~seen[w]
            number += _popcount(level[w])
        if number == 0:
            return
        levels[depth] += np.int64(number)
        for w in range(words):
            left = level[w]
            while left != 0:
                i = _WORD * w + np.int64(_lowest_bit(left))
                left &= left - one
                for t in range(bits.shape[0]):
                    inside = np.uint64(0)
                    for k in range(words):
                        inside += _popcount(bits[t, i, k] & level[k])
                    levels[0] += np.int64(t + 2) * np.int64(inside)
