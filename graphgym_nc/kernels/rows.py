r"""What :mod:`graphgym_nc.nn.fused` does with a row for every edge or message.

A row :math:`y` is normalised as :math:`y \cdot scale + shift` and, if
:obj:`relu` is set, cut off at zero. The docstring of a kernel lists its
arguments, in order; :math:`p` is the width of all rows. Sums over many rows are
taken in float64, over blocks of float32, by each thread for itself.
"""

from typing import Any

import numpy as np
from numba import carray, njit
from numpy.typing import NDArray

from graphgym_nc.kernels.openmp import (
    FAST_SUMS,
    cached,
    doubles,
    indices,
    kernel,
    matrix,
    thread_count,
    thread_number,
    vector,
)

Array = NDArray[Any]

_BLOCK = 64  # rows whose sum is taken in float32

compiled = cached(njit, fastmath=FAST_SUMS, error_model='numpy')


@compiled
def _bound(rowptr: Array, part: int, parts: int) -> int:
    """Where a part begins, if each is to have as many rows and entries."""
    rows = rowptr.size - 1
    wanted = (np.int64(rowptr[rows]) + rows) * part // parts
    low, high = 0, rows
    while low < high:
        middle = (low + high) // 2
        if rowptr[middle] + middle < wanted:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def _share(rowptr: Array) -> tuple[int, int]:
    """This thread's part of rows that have more or fewer entries."""
    thread, threads = thread_number(), thread_count()
    return _bound(rowptr, thread, threads), _bound(rowptr, thread + 1, threads)


@compiled
def _equal_share(rows: int) -> tuple[int, int]:
    """This thread's part of rows that are all alike."""
    thread, threads = thread_number(), thread_count()
    return rows * thread // threads, rows * (thread + 1) // threads


@compiled
def _flush(block: Array, total: Array) -> None:
    for j in range(block.size):
        total[j] += block[j]
        block[j] = 0


@kernel
def lift_moments(args: Any) -> None:
    """The weighted sums of y - centre and its square, for y = a[u] + a[v].

    a [n, p], ends [2m], weight [m], centre [p], sums [threads, 2p]
    """
    task = carray(args, (15,))
    a, ends, weight, centre = matrix(task, 0), indices(task, 1), vector(task, 2), vector(task, 3)
    p = centre.size
    total = doubles(task, 4)[thread_number()]
    block = np.zeros(2 * p, np.float32)
    first, second = block[:p], block[p:]
    begin, end = _equal_share(weight.size)
    for e in range(begin, end):
        left, right, w = a[ends[2 * e]], a[ends[2 * e + 1]], weight[e]
        for j in range(p):
            y = left[j] + right[j] - centre[j]
            first[j] += w * y
            second[j] += w * y * y
        if e % _BLOCK == 0:
            _flush(block, total)
    _flush(block, total)


@kernel
def moments(args: Any) -> None:
    """The weighted sums of y - centre and its square.

    y [m, p], weight [m], centre [p], sums [threads, 2p]
    """
    task = carray(args, (12,))
    y, weight, centre = matrix(task, 0), vector(task, 1), vector(task, 2)
    p = centre.size
    total = doubles(task, 3)[thread_number()]
    block = np.zeros(2 * p, np.float32)
    first, second = block[:p], block[p:]
    begin, end = _equal_share(weight.size)
    for e in range(begin, end):
        row, w = y[e], weight[e]
        for j in range(p):
            value = row[j] - centre[j]
            first[j] += w * value
            second[j] += w * value * value
        if e % _BLOCK == 0:
            _flush(block, total)
    _flush(block, total)


@kernel
def lift(args: Any) -> None:
    """Normalises y = a[u] + a[v].

    a [n, p], ends [2m], scale [p], shift [p], relu, out [m, p]
    """
    task = carray(args, (18,))
    a, ends, scale, shift = matrix(task, 0), indices(task, 1), vector(task, 2), vector(task, 3)
    floor = np.float32(0) if task[12] else np.float32(-np.inf)
    out = matrix(task, 5)
    begin, end = _equal_share(out.shape[0])
    for e in range(begin, end):
        left, right, row = a[ends[2 * e]], a[ends[2 * e + 1]], out[e]
        for j in range(row.size):
            row[j] = max((left[j] + right[j]) * scale[j] + shift[j], floor)


@kernel
def lift_sums(args: Any) -> None:
    """The sums of g and g * (y - centre), for the gradient g of y's norm.

    grad [m, p], a [n, p], ends [2m], scale [p], shift [p], relu, centre [p],
    sums [threads, 2p]
    """
    task = carray(args, (24,))
    grad, a, ends = matrix(task, 0), matrix(task, 1), indices(task, 2)
    scale, shift, centre = vector(task, 3), vector(task, 4), vector(task, 6)
    floor = np.float32(0) if task[15] else np.float32(-np.inf)
    p = centre.size
    total = doubles(task, 7)[thread_number()]
    block = np.zeros(2 * p, np.float32)
    first, second = block[:p], block[p:]
    begin, end = _equal_share(grad.shape[0])
    for e in range(begin, end):
        left, right, g = a[ends[2 * e]], a[ends[2 * e + 1]], grad[e]
        for j in range(p):
            y = left[j] + right[j]
            passed = g[j] if y * scale[j] + shift[j] > floor else np.float32(0)
            first[j] += passed
            second[j] += passed * (y - centre[j])
        if e % _BLOCK == 0:
            _flush(block, total)
    _flush(block, total)


@kernel
def lift_backward(args: Any) -> None:
    """The gradient of a, given that of y's norm: see :func:`norm_backward`.

    grad [m, p], a [n, p], ends [2m], rowptr_t [n + 1], col_t [2m], weight [m],
    scale [p], shift [p], relu, centre [p], constant [p], slope [p], out [n, p]
    """
    task = carray(args, (39,))
    grad, a, ends = matrix(task, 0), matrix(task, 1), indices(task, 2)
    rowptr, col, weight = indices(task, 3), indices(task, 4), vector(task, 5)
    scale, shift = vector(task, 6), vector(task, 7)
    floor = np.float32(0) if task[24] else np.float32(-np.inf)
    centre, constant, slope = vector(task, 9), vector(task, 10), vector(task, 11)
    out = matrix(task, 12)
    begin, end = _share(rowptr)
    for v in range(begin, end):
        here, row = a[v], out[v]
        row[:] = 0
        for i in range(rowptr[v], rowptr[v + 1]):
            e = col[i]
            there, g, w = a[ends[2 * e] + ends[2 * e + 1] - v], grad[e], weight[e]
            for j in range(row.size):
                y = here[j] + there[j]
                passed = g[j] if y * scale[j] + shift[j] > floor else np.float32(0)
                row[j] += passed * scale[j] - w * (constant[j] + slope[j] * (y - centre[j]))


@kernel
def normalise(args: Any) -> None:
    """Normalises rows.

    y [m, p], scale [p], shift [p], relu, out [m, p]
    """
    task = carray(args, (15,))
    y, scale, shift = matrix(task, 0), vector(task, 1), vector(task, 2)
    floor = np.float32(0) if task[9] else np.float32(-np.inf)
    out = matrix(task, 4)
    begin, end = _equal_share(out.shape[0])
    for e in range(begin, end):
        source, row = y[e], out[e]
        for j in range(row.size):
            row[j] = max(source[j] * scale[j] + shift[j], floor)


@kernel
def cut_off(args: Any) -> None:
    """Turns the gradient of normalised rows into that of the norm, g, which is
    zero wherever a row was cut off; and sums g and g * (y - centre).

    grad [m, p], y [m, p], scale [p], shift [p], relu, centre [p], sums [threads, 2p]
    """
    task = carray(args, (21,))
    grad, y, scale, shift = matrix(task, 0), matrix(task, 1), vector(task, 2), vector(task, 3)
    floor = np.float32(0) if task[12] else np.float32(-np.inf)
    centre = vector(task, 5)
    p = centre.size
    total = doubles(task, 6)[thread_number()]
    block = np.zeros(2 * p, np.float32)
    first, second = block[:p], block[p:]
    begin, end = _equal_share(grad.shape[0])
    for e in range(begin, end):
        g, row = grad[e], y[e]
        for j in range(p):
            g[j] = g[j] if row[j] * scale[j] + shift[j] > floor else np.float32(0)
        for j in range(p):  # apart: a loop that writes to three rows is not vectorised
            first[j] += g[j]
            second[j] += g[j] * (row[j] - centre[j])
        if e % _BLOCK == 0:
            _flush(block, total)
    _flush(block, total)


@kernel
def norm_backward(args: Any) -> None:
    """Turns the gradient of a norm into that of y,
    scale * grad - weight * (constant + slope * (y - centre)).

    grad [m, p], y [m, p], weight [m], scale [p], centre [p], constant [p], slope [p]
    """
    task = carray(args, (21,))
    grad, y, weight = matrix(task, 0), matrix(task, 1), vector(task, 2)
    scale, centre = vector(task, 3), vector(task, 4)
    constant, slope = vector(task, 5), vector(task, 6)
    begin, end = _equal_share(weight.size)
    for e in range(begin, end):
        g, row, w = grad[e], y[e], weight[e]
        for j in range(g.size):
            g[j] = g[j] * scale[j] - w * (constant[j] + slope[j] * (row[j] - centre[j]))
