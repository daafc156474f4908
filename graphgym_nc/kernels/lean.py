r"""MLP2 of one Linear layer, BatchNorm and ReLU, and its sum, from rows of nodes alone.

All before the ReLU is linear. So a message is
:math:`\mathrm{ReLU}(\mathbf{b}_u + \mathbf{b}_v)` for a row :math:`\mathbf{b}_u` of every node.
No row of an edge is ever written down: the cache has room for the nodes of a graph, but not for
its edges.

BatchNorm wants the moments of all :math:`N` messages, of which :math:`w_e` are from an edge
:math:`e = \{u, v\}`. A node :math:`u` that receives :math:`n_u` of them is a corner of as many
triangles, with two edges each. So with rows :math:`\mathbf{a}_u` before BatchNorm,

.. math::
    N \boldsymbol{\mu} = \sum_e w_e (\mathbf{a}_u + \mathbf{a}_v)
    = \sum_u 2 n_u \mathbf{a}_u.

Half of :math:`\boldsymbol{\mu}` is taken off :math:`\mathbf{a}_u`. Then

.. math::
    N \boldsymbol{\sigma}^2 = \sum_e w_e (\mathbf{a}_u + \mathbf{a}_v)^2
    = \sum_u \mathbf{a}_u \odot \mathbf{t}_u, \qquad
    \mathbf{t}_u = \sum_{e = \{u, v\}} w_e (\mathbf{a}_u + \mathbf{a}_v).

Little cancels out there: of every triangle, this has at least the squares of its corners. The
backward pass takes :math:`w_e` times a constant and a multiple of the message off the gradient of
every edge, so at a node :math:`u`, multiples of :math:`n_u` and :math:`\mathbf{t}_u`.

Every thread has some of the nodes, and alone writes to their rows. The gradient of an edge between
nodes of two threads is found by both.
"""

from typing import Any

import numpy as np
from numba import carray

from graphgym_nc.kernels.graphs import entries
from graphgym_nc.kernels.lanes import (
    add,
    add_times,
    in_tiles,
    load,
    relu,
    relu_backward,
    store,
    zeros,
)
from graphgym_nc.kernels.openmp import (
    barrier,
    counts,
    doubles,
    indices,
    kernel,
    matrix,
    number,
    thread_count,
    thread_number,
    vector,
)
from graphgym_nc.kernels.row_loops import (
    BLOCK,
    MEAN,
    OF_NORM,
    SCALE,
    Array,
    compiled,
    flush,
    share,
    sum_of_threads,
)
from graphgym_nc.kernels.rows import norm_of, sums_of, through_statistics


@compiled
def _sum_rows(weight: Array, rows: Array, low: int, high: int, total: Array) -> None:
    """Sums rows, as often as :obj:`weight` says. A row of weight zero may hold anything."""
    block = np.zeros(total.size, np.float32)
    total[:] = 0
    for u in range(low, high):
        if weight[u] > 0:
            w = np.float32(weight[u])
            for j in range(block.size):
                block[j] += w * rows[u, j]
        if u % BLOCK == 0:
            flush(block, total)
    flush(block, total)


@compiled
def _sum_products(
    weight: Array, left: Array, right: Array, low: int, high: int, total: Array
) -> None:
    """Sums the products of rows whose weight is not zero."""
    block = np.zeros(total.size, np.float32)
    total[:] = 0
    for u in range(low, high):
        if weight[u] > 0:
            for j in range(block.size):
                block[j] += left[u, j] * right[u, j]
        if u % BLOCK == 0:
            flush(block, total)
    flush(block, total)


@compiled
def _half_of(task: Array, i: int, p: int) -> Array:
    """Half of a vector, which both ends of an edge add; zeros if there is none."""
    half, given = np.zeros(p, np.float32), vector(task, i, task[2])
    half[: given.size] = given / 2
    return half


@compiled
def _scale_rows(rows: Array, scale: Array, shift: Array, low: int, high: int, out: Array) -> None:
    for u in range(low, high):
        for j in range(shift.size):
            out[u, j] = rows[u, j] * scale[j] + shift[j]


@compiled
def _spread(
    rows: Array,
    weight: Array,
    graph: tuple[Array, Array, Array],
    part: tuple[int, int],
    out: Array,
    column: int,
    tile: Any,
) -> None:
    """Sums all that is sent by the edges of a node, as it is before the ReLU."""
    ends, rowptr, col = graph
    for u in range(*part):
        own, total = load(rows, u, column, tile), zeros(tile)
        for i in entries(rowptr, u):
            e = np.uint64(col[i])
            message = add(own, load(rows, ends[e, 0] + ends[e, 1] - u, column, tile))
            total = add_times(total, np.float32(weight[e]), message)
        store(out, u, column, total)


@compiled
def sum_messages(
    rows: Array,
    ends: Array,
    lists: tuple[Array, Array],
    part: tuple[int, int],
    out: Array,
    column: int,
    tile: Any,
) -> None:
    """Sums messages over lists of edges."""
    rowptr, col = lists
    for r in range(*part):
        total = zeros(tile)
        for i in entries(rowptr, r):
            e = np.uint64(col[i])
            left = load(rows, ends[e, 0], column, tile)
            total = add(total, relu(add(left, load(rows, ends[e, 1], column, tile))))
        store(out, r, column, total)


@compiled
def sum_messages_backward(
    grad: Array,
    rows: Array,
    graph: tuple[Array, Array, Array],
    lists: tuple[Array, Array],
    part: tuple[int, int],
    out: Array,
    column: int,
    tile: Any,
) -> None:
    """Finds the gradient of rows, given that of the sums, and which of them every edge is in."""
    (ends, rowptr, col), (rowptr_t, col_t), (low, high) = graph, lists, part
    for u in range(low, high):
        store(out, u, column, zeros(tile))
    for u in range(low, high):
        own, total = load(rows, u, column, tile), load(out, u, column, tile)
        for i in entries(rowptr, u):
            e = np.uint64(col[i])
            v = ends[e, 0] + ends[e, 1] - u
            if low <= v < u:  # has been added already
                continue
            of_edge = zeros(tile)
            for k in entries(rowptr_t, e):
                of_edge = add(of_edge, load(grad, col_t[k], column, tile))
            of_edge = relu_backward(of_edge, add(own, load(rows, v, column, tile)))
            total = add(total, of_edge)
            if u < v < high:
                store(out, v, column, add(load(out, v, column, tile), of_edge))
        store(out, u, column, total)


@kernel
def lean(args: Any) -> None:
    """Sums messages, given the products of all nodes.

    As for :func:`~graphgym_nc.kernels.rows.normalise`: 0 m, 1 p, 2 width, 4 by_batch, 5 eps,
    6 messages, 7 momentum, 10 to 17; 8 a [n, p], which half of the mean is taken off,
    9 b [n, p], 18 n, 19 ends [m, 2], 20 rowptr_t [n + 1], 21 col_t [2m] (the edges of every
    node), 22 received [n] (messages, in int64), 23 sums [threads, p], 24 t [n, p] (if by_batch),
    25 r, 26 rowptr [r + 1], 27 col (the edges of every sum), 28 out [r, p]
    """
    task = carray(args, (29,))
    m, p, by_batch, n, r = task[0], task[1], task[4], task[18], task[25]
    a, b, ends = matrix(task, 8, n, p), matrix(task, 9, n, p), indices(task, 19, 2 * m)
    ends = ends.reshape((m, 2))
    rowptr_t, received = indices(task, 20, n + 1), counts(task, 22, n)
    low, high = share(rowptr_t)
    mean, ones = np.zeros(p, np.float32), np.ones(p, np.float32)
    if by_batch:
        sums, moments = doubles(task, 23, thread_count(), p), sums_of(task, 10)[thread_number()]
        _sum_rows(received, a, low, high, sums[thread_number()])
        barrier()
        mean[:] = 2 * sum_of_threads(sums) / number(task, 6)
        _scale_rows(a, ones, -mean / 2, low, high, a)
        barrier()
        weight, col_t, t = indices(task, 12, m), indices(task, 21, 2 * m), matrix(task, 24, n, p)
        in_tiles(_spread, p, (a, weight, (ends, rowptr_t, col_t), (low, high), t))
        moments[:p] = 0  # of what the mean was taken off
        _sum_products(received, a, t, low, high, moments[p:])
        barrier()
    norm = norm_of(task, mean)
    if not by_batch:
        _scale_rows(a, ones, -norm[MEAN] / 2, low, high, a)
    _scale_rows(a, norm[SCALE], _half_of(task, 15, p), low, high, b)
    barrier()
    rowptr = indices(task, 26, r + 1)
    lists = rowptr, indices(task, 27, rowptr[r])
    in_tiles(sum_messages, p, (b, ends, lists, share(rowptr), matrix(task, 28, r, p)))


@kernel
def lean_backward(args: Any) -> None:
    """Finds the gradient of the products of all nodes, given that of the sums, and those of
    offset, gamma and beta.

    As for :func:`~graphgym_nc.kernels.rows.normalise_backward`: 0 m, 1 p, 2 width, 4 by_batch,
    5 messages, 8 to 10; 6 grad [r, p], 7 a [n, p] as :func:`lean` leaves it, 11 b [n, p] (to be
    found), 12 n, 13 ends [m, 2], 14 rowptr [n + 1], 15 col [2m] (the edges of every node),
    16 beta, 17 received [n], 18 t [n, p] (if by_batch), 19 r, 20 rowptr_t [m + 1],
    21 col_t (the sums of every edge), 22 balance [n + 1] (the work that every node is),
    23 out [n, p]
    """
    task = carray(args, (24,))
    m, p, by_batch, n, r = task[0], task[1], task[4], task[12], task[19]
    grad, a, b = matrix(task, 6, r, p), matrix(task, 7, n, p), matrix(task, 11, n, p)
    norm, out = matrix(task, 9, OF_NORM, p), matrix(task, 23, n, p)
    ends = indices(task, 13, 2 * m).reshape((m, 2))
    graph = ends, indices(task, 14, n + 1), indices(task, 15, 2 * m)
    rowptr_t, received = indices(task, 20, m + 1), counts(task, 17, n)
    lists = rowptr_t, indices(task, 21, rowptr_t[m])
    low, high = share(indices(task, 22, n + 1))
    _scale_rows(a, norm[SCALE], _half_of(task, 16, p), low, high, b)
    barrier()
    in_tiles(sum_messages_backward, p, (grad, b, graph, lists, (low, high), out))
    moments = sums_of(task, 8)[thread_number()]
    _sum_rows(np.ones(n, np.int64), out, low, high, moments[:p])
    moments[:p] /= 2  # of two ends
    _sum_products(received, out, a, low, high, moments[p:])
    barrier()
    constant, slope = through_statistics(task, norm)
    if by_batch:
        t, scale = matrix(task, 18, n, p), norm[SCALE]
        for u in range(low, high):
            messages = np.float32(2 * received[u])
            for j in range(p):
                out[u, j] = out[u, j] * scale[j] - messages * constant[j] - slope[j] * t[u, j]
    else:
        _scale_rows(out, norm[SCALE], np.zeros(p, np.float32), low, high, out)
