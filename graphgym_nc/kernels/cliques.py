"""The triangles and the cliques of four nodes on every edge of a simple graph."""

import numpy as np

from graphgym_nc.kernels.graphs import Array, blocks, compiled
from graphgym_nc.kernels.listing import (
    _WORD,
    _bits_pay,
    _bitset_size,
    _lowest_bit,
    _orient,
    _popcount,
    _set_bits,
)


@compiled
def count_cliques(edges: Array, num_nodes: int, triangles: Array, cliques: Array) -> None:
    """Counts the triangles and the 4-cliques on every edge.

    In small or dense blocks, what two nodes have in common is a bitset, and so is what a third
    has in common with it. In large and sparse ones, 4-cliques are listed, each from its highest
    node downwards, in the order of degrees (Chiba and Nishizeki, 1985).

    Args:
        edges: The edges, of shape :obj:`[2, m]`.
        num_nodes: The number of nodes.
        triangles: Takes the number of triangles, of shape :obj:`[m]`.
        cliques: Takes the number of 4-cliques, of shape :obj:`[m]`.
    """
    begin = blocks(edges, num_nodes)
    bits = np.empty(_bitset_size(begin), np.uint64)
    triangles[:] = 0
    cliques[:] = 0
    for i in range(len(begin) - 1):
        first, start = begin[i]
        last, stop = begin[i + 1]
        if stop - start < 3:
            continue
        own = edges[:, start:stop], first, last, triangles[start:stop], cliques[start:stop]
        if _bits_pay(last - first, stop - start):
            _count_by_bits(*own, bits)
        else:
            _count_in_lists(*own)


@compiled
def _count_by_bits(
    edges: Array, first: int, last: int, triangles: Array, cliques: Array, bits: Array
) -> None:
    words = _set_bits(edges, first, last, bits)
    common = np.empty(words, np.uint64)
    for e in range(edges.shape[1]):
        u, v = (edges[0, e] - first) * words, (edges[1, e] - first) * words
        number = np.uint64(0)
        for k in range(words):
            common[k] = bits[u + k] & bits[v + k]
            number += _popcount(common[k])
        triangles[e] = number
        if number < 2:
            continue
        both = np.uint64(0)  # every edge among common neighbours, from both of its ends
        for k in range(words):
            left = common[k]
            while left != 0:
                w = (k * _WORD + np.int64(_lowest_bit(left))) * words
                left &= left - np.uint64(1)
                for j in range(words):
                    both += _popcount(common[j] & bits[w + j])
        cliques[e] = both // np.uint64(2)


@compiled
def _count_in_lists(edges: Array, first: int, last: int, triangles: Array, cliques: Array) -> None:
    _, rowptr, heads, ids = _orient(edges, first, last)
    size = last - first
    edge_a, edge_b = np.full(size, -1, np.int64), np.full(size, -1, np.int64)
    common = np.empty(size, np.int64)
    for a in range(size):
        for i in range(rowptr[a], rowptr[a + 1]):
            edge_a[heads[i]] = ids[i]
        for i in range(rowptr[a], rowptr[a + 1]):
            b, ab, number = heads[i], ids[i], 0
            for j in range(rowptr[b], rowptr[b + 1]):
                c = heads[j]
                if edge_a[c] >= 0:
                    edge_b[c], common[number] = ids[j], c
                    number += 1
                    triangles[ab] += 1
                    triangles[ids[j]] += 1
                    triangles[edge_a[c]] += 1
            for k in range(number):
                c = common[k]
                for j in range(rowptr[c], rowptr[c + 1]):
                    d = heads[j]
                    if edge_b[d] >= 0:
                        for e in (ab, ids[j], edge_a[c], edge_a[d], edge_b[c], edge_b[d]):
                            cliques[e] += 1
            for k in range(number):
                edge_b[common[k]] = -1
        for i in range(rowptr[a], rowptr[a + 1]):
            edge_a[heads[i]] = -1
