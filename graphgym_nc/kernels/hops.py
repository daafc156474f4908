"""What lies among the neighbours that a node has at one hop, on the CPU."""

import numpy as np

from graphgym_nc.kernels.graphs import Array, compiled
from graphgym_nc.kernels.listing import _WORD, _popcount


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
        near = np.zeros((size, words), np.uint64)
        for i in range(size):
            for e in range(rowptr[nodes[i]], rowptr[nodes[i] + 1]):
                j = place[col[e]]
                if j >= 0:
                    bits[kind[e], i, j // _WORD] |= one << np.uint64(j % _WORD)
                    near[i, j // _WORD] |= one << np.uint64(j % _WORD)
                    edges[v, kind[e]] += 1
        for i in range(size):
            place[nodes[i]] = -1
        if edges[v].sum() > 0:
            for i in range(size):
                _search(near, bits, i, levels[v])


@compiled
def _search(near: Array, bits: Array, start: int, levels: Array) -> None:
    """Searches one subgraph, breadth first, as deep as there are levels to count."""
    words, one = near.shape[1], np.uint64(1)
    seen, level = np.zeros(words, np.uint64), np.zeros(words, np.uint64)
    level[start // _WORD] = one << np.uint64(start % _WORD)
    for depth in range(1, levels.size):
        following = np.zeros(words, np.uint64)
        for i in range(near.shape[0]):
            if level[i // _WORD] >> np.uint64(i % _WORD) & one:
                following |= near[i]
        seen |= level
        level = following & ~seen
        number = 0
        for w in range(words):
            number += np.int64(_popcount(level[w]))
        if number == 0:
            return
        levels[depth] += number
        for i in range(near.shape[0]):
            if level[i // _WORD] >> np.uint64(i % _WORD) & one:
                for t in range(bits.shape[0]):
                    for w in range(words):
                        inside = np.int64(_popcount(bits[t, i, w] & level[w]))
                        levels[0] += (t + 2) * inside
