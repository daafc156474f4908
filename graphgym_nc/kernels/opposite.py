"""The nodes opposite to every edge, and the edges opposite to every node.

Blocks have nodes and edges of their own, so every thread does some of them.
"""

from typing import Any

import numpy as np
from numba import carray

from graphgym_nc.kernels.graphs import Array, compiled, list_rows
from graphgym_nc.kernels.listing import fill
from graphgym_nc.kernels.openmp import indices, kernel, thread_count, thread_number


@compiled
def list_opposite(
    edges: Array, begin: Array, rowptr: Array, col: Array, rowptr_t: Array, col_t: Array
) -> None:
    """Lists nodes and edges opposite to each other.

    Args:
        edges: The edges, of shape :obj:`[2, m]`.
        begin: Where some consecutive blocks begin and the last ends, as of
            :meth:`~graphgym_nc.kernels.graphs.blocks`.
        rowptr: Where the nodes of every edge begin, of shape :obj:`[m + 1]`.
        col: Takes the nodes opposite to the edges of these blocks.
        rowptr_t: Where the edges of every node begin, of shape :obj:`[num_nodes + 1]`.
        col_t: Takes the edges opposite to the nodes of these blocks.
    """
    fill(edges, begin, rowptr, col)
    first, start = begin[0]
    last, stop = begin[-1]
    list_rows(rowptr, col, rowptr_t, col_t, (start, stop), (first, last))


@compiled
def _bound(begin: Array, rowptr: Array, part: int, parts: int) -> int:
    """The block that a part begins with, if each is to have as many messages."""
    wanted = np.int64(rowptr[-1]) * part // parts
    block = 0
    while block < len(begin) - 1 and rowptr[begin[block, 1]] < wanted:
        block += 1
    return len(begin) - 1 if part == parts else block


@kernel
def list_opposite_in_parts(args: Any) -> None:
    """Does the same of all blocks, of which every thread has some. An error would go unseen,
    for want of memory, say: what counts are the blocks that are done.

    0 blocks, 1 m, 2 n, 3 messages; in int32: 4 begin [blocks + 1, 2], 5 edges [2, m],
    6 rowptr [m + 1], 7 col, 8 rowptr_t [n + 1], 9 col_t, 10 done [threads]
    """
    task = carray(args, (11,))
    blocks, m, n, messages = task[0], task[1], task[2], task[3]
    begin = indices(task, 4, 2 * (blocks + 1)).reshape((blocks + 1, 2))
    edges, rowptr = indices(task, 5, 2 * m).reshape((2, m)), indices(task, 6, m + 1)
    low = _bound(begin, rowptr, thread_number(), thread_count())
    high = _bound(begin, rowptr, thread_number() + 1, thread_count())
    if low < high:
        list_opposite(
            edges, begin[low : high + 1], rowptr, indices(task, 7, messages),
            indices(task, 8, n + 1), indices(task, 9, messages),
        )  # fmt: skip
        indices(task, 10, thread_count())[thread_number()] = high - low
