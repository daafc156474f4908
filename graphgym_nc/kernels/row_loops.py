"""Loops over rows, each the share of one thread: see :mod:`graphgym_nc.kernels.rows`.

Sums over rows are taken in float64, over blocks of float32. Where loops are given :obj:`ends`,
a row :obj:`y` is the sum of two. The compiler leaves one side of :obj:`ends is None` out.
"""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from graphgym_nc.kernels.openmp import FAST_SUMS, cached, thread_count, thread_number

Array = NDArray[Any]

BLOCK = 64  # rows whose sum is taken in float32
_SAMPLE = 16  # rows whose mean is near enough to that of all for nothing to cancel

#: What a normalisation is described by: all that it has of a column.
MEAN, VAR, INV_STD, SCALE, SHIFT = range(OF_NORM := 5)

compiled = cached(njit, fastmath=FAST_SUMS, error_model='numpy')


@compiled
def floor_of(relu: int) -> float:
    return np.float32(0) if relu else np.float32(-np.inf)


@compiled
def cut_of(relu: int) -> float:
    """What has no gradient unless above; NaN, with which no comparison holds, for none."""
    return np.float32(0 if relu else np.nan)


@compiled
def sampling_step(rows: int) -> int:
    """Every how many rows to take one."""
    return max(1, (rows + _SAMPLE - 1) // _SAMPLE)


@compiled
def scale_row(row: Array, factor: float) -> None:
    for j in range(row.size):
        row[j] *= factor


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
def share(rowptr: Array) -> tuple[int, int]:
    """This thread's part of rows that have more or fewer entries."""
    thread, threads = thread_number(), thread_count()
    return _bound(rowptr, thread, threads), _bound(rowptr, thread + 1, threads)


@compiled
def equal_share(rows: int) -> tuple[int, int]:
    """This thread's part of rows that are all alike."""
    thread, threads = thread_number(), thread_count()
    return rows * thread // threads, rows * (thread + 1) // threads


@compiled
def flush(block: Array, total: Array) -> None:
    for j in range(block.size):
        total[j] += block[j]
        block[j] = 0


@compiled
def sum_of_threads(sums: Array) -> Array:
    """The sum over the threads that there are, which may be fewer than were asked for."""
    total = np.zeros(sums.shape[1])
    for thread in range(thread_count()):
        for j in range(total.size):
            total[j] += sums[thread, j]
    return total


@compiled
def moments(rows: Array, ends: Any, weight: Array, centre: Array, total: Array) -> None:
    """The weighted sums of y - centre and its square."""
    p = centre.size
    total[:] = 0
    block = np.zeros(2 * p, np.float32)
    first, second = block[:p], block[p:]
    begin, end = equal_share(weight.size)
    for e in range(begin, end):
        if ends is None:
            left = right = rows[e]
        else:
            left, right = rows[ends[2 * e]], rows[ends[2 * e + 1]]
        w = np.float32(weight[e])
        for j in range(p):
            y = left[j] - centre[j] if ends is None else left[j] + right[j] - centre[j]
            first[j] += w * y
            second[j] += w * y * y
        if e % BLOCK == 0:
            flush(block, total)
    flush(block, total)


@compiled
def normalise_rows(
    rows: Array, ends: Any, scale: Array, shift: Array, floor: float, out: Array
) -> None:
    begin, end = equal_share(out.shape[0])
    for e in range(begin, end):
        if ends is None:
            left = right = rows[e]
        else:
            left, right = rows[ends[2 * e]], rows[ends[2 * e + 1]]
        row = out[e]
        for j in range(row.size):
            y = left[j] if ends is None else left[j] + right[j]
            row[j] = max(y * scale[j] + shift[j], floor)


@compiled
def cut_off(grad: Array, rows: Array, ends: Any, norm: Array, cut: float, total: Array) -> None:
    """Turns the gradient of normalised rows into g, that of the norm, which is zero
    wherever a row was cut off; and sums g and g * (y - mean).
    """
    mean, scale, shift = norm[MEAN], norm[SCALE], norm[SHIFT]
    p = mean.size
    total[:] = 0
    block = np.zeros(2 * p, np.float32)
    first, second = block[:p], block[p:]
    begin, end = equal_share(grad.shape[0])
    for e in range(begin, end):
        if ends is None:
            left = right = rows[e]
        else:
            left, right = rows[ends[2 * e]], rows[ends[2 * e + 1]]
        g = grad[e]
        for j in range(p):
            y = left[j] if ends is None else left[j] + right[j]
            g[j] = np.float32(0) if y * scale[j] + shift[j] <= cut else g[j]
        for j in range(p):  # apart: a loop that writes to three rows is not vectorised
            y = left[j] if ends is None else left[j] + right[j]
            first[j] += g[j]
            second[j] += g[j] * (y - mean[j])
        if e % BLOCK == 0:
            flush(block, total)
    flush(block, total)


@compiled
def norm_to_rows(
    grad: Array,
    rows: Array,
    ends: Any,
    norm: Array,
    weight: Array,
    by_batch: int,
    constant: Array,
    slope: Array,
) -> None:
    """Turns the gradient of a norm into that of rows. With statistics of the batch, these take
    something off for every message: constant + slope * (y - mean).
    """
    mean, scale = norm[MEAN], norm[SCALE]
    begin, end = equal_share(grad.shape[0])
    for e in range(begin, end):
        if ends is None:
            left = right = rows[e]
        else:
            left, right = rows[ends[2 * e]], rows[ends[2 * e + 1]]
        g, w = grad[e], np.float32(weight[e])
        if by_batch:
            for j in range(g.size):
                y = left[j] if ends is None else left[j] + right[j]
                g[j] = g[j] * scale[j] - w * (constant[j] + slope[j] * (y - mean[j]))
        else:
            for j in range(g.size):
                g[j] *= scale[j]


@compiled
def sum_rows(rows: Array, rowptr: Array, col: Array, out: Array) -> None:
    """The sum over the entries of every row of a sparse matrix."""
    total = np.empty(out.shape[1], out.dtype)
    begin, end = share(rowptr)
    for v in range(begin, end):
        total[:] = 0
        for i in range(rowptr[v], rowptr[v + 1]):
            row = rows[col[i]]
            for j in range(total.size):
                total[j] += row[j]
        out[v] = total
