r"""What :mod:`graphgym_nc.nn._fused` does with a row for every edge.

A row :math:`y` is one of a matrix, or the sum of two, for the ends of an edge. It is
normalised as :math:`y \cdot scale + shift` and, if :obj:`relu` is set, cut off at
zero. One kernel does all of this, and one its gradient: first the sums over rows, in
float64 over blocks of float32, by each thread for itself; and once all
threads have them, what depends on the sums. The docstring of a kernel lists its
arguments by number; there are :math:`m` edges, and :math:`p` is the width of all rows,
with padding.
"""

from typing import Any

import numpy as np
from numba import carray

from graphgym_nc.kernels.openmp import (
    barrier,
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
    INV_STD,
    MEAN,
    OF_NORM,
    SCALE,
    SHIFT,
    VAR,
    Array,
    compiled,
    cut_of,
    cut_off,
    floor_of,
    moments,
    norm_to_rows,
    normalise_rows,
    sampling_step,
    scale_row,
    sum_of_threads,
    sum_rows,
)


@compiled
def sums_of(task: Array, i: int) -> Array:
    """What threads share, of shape [threads, 2p]."""
    return doubles(task, i, thread_count(), 2 * task[1])


@compiled
def norm_of(task: Array, centre: Array) -> Array:
    """How to normalise; each thread finds out for itself, and the first notes it down."""
    p, width, total = task[1], task[2], np.zeros(0)
    by_batch, eps, messages = task[4], number(task, 5), number(task, 6)
    offset, gamma, beta = vector(task, 13, width), vector(task, 14, width), vector(task, 15, width)
    running_mean, running_var = vector(task, 16, width), vector(task, 17, width)
    norm = np.zeros((OF_NORM, p), np.float32)
    if by_batch:
        total = sum_of_threads(sums_of(task, 10))
    for j in range(width):
        bias = offset[j] if offset.size > 0 else np.float32(0)  # is not in rows yet
        if by_batch:
            mean = total[j] / messages
            var = total[p + j] / messages - mean * mean
            norm[MEAN, j] = centre[j] + mean
            norm[VAR, j] = 0 if var < 0 else var
        elif running_mean.size > 0:
            norm[MEAN, j], norm[VAR, j] = running_mean[j] - bias, running_var[j]
        else:
            norm[MEAN, j], norm[VAR, j] = -bias, 1
        norm[INV_STD, j] = 1 if eps < 0 else 1 / np.sqrt(norm[VAR, j] + eps)
        norm[SCALE, j] = norm[INV_STD, j] * (gamma[j] if gamma.size > 0 else np.float32(1))
        norm[SHIFT, j] = (beta[j] if beta.size > 0 else np.float32(0)) - (
            norm[MEAN, j] * norm[SCALE, j]
        )
    if thread_number() == 0:
        matrix(task, 11, OF_NORM, p)[:] = norm
        if by_batch and running_mean.size > 0:
            _move(running_mean, running_var, norm, offset, messages, number(task, 7))
    return norm


@compiled
def _move(mean: Array, var: Array, norm: Array, offset: Array, rows: float, by: float) -> None:
    """Moves the running statistics towards those of a batch."""
    unbiased = rows / max(rows - 1, 1)
    for j in range(mean.size):
        bias = offset[j] if offset.size > 0 else np.float32(0)
        mean[j] += by * (norm[MEAN, j] + bias - mean[j])
        var[j] += by * (norm[VAR, j] * unbiased - var[j])


@compiled
def through_statistics(task: Array, norm: Array) -> tuple[Array, Array]:
    """What :func:`norm_to_rows` takes off for the statistics of a batch; and notes down the
    gradients of the vectors.
    """
    p, by_batch, messages = task[1], task[4], number(task, 5)
    total, of_vectors = sum_of_threads(sums_of(task, 8)), matrix(task, 10, 3, p)
    constant, slope = np.zeros(p, np.float32), np.zeros(p, np.float32)
    for j in range(p):
        first, second = total[j], total[p + j] * norm[INV_STD, j]
        constant[j] = norm[SCALE, j] * first / messages
        slope[j] = norm[SCALE, j] * norm[INV_STD, j] * second / messages
        if thread_number() == 0:
            # The mean of a batch takes an offset away again.
            of_vectors[0, j] = 0 if by_batch else first * norm[SCALE, j]
            of_vectors[1, j], of_vectors[2, j] = second, first
    return constant, slope


@compiled
def _normalise(task: Array, rows: Array, ends: Any) -> None:
    m, p = task[0], task[1]
    centre = np.zeros(p, np.float32)
    if task[4]:
        step = sampling_step(m)
        for e in range(0, m, step):
            for j in range(p):
                if ends is None:
                    centre[j] += rows[e, j]
                else:
                    centre[j] += rows[ends[2 * e], j] + rows[ends[2 * e + 1], j]
        scale_row(centre, 1 / len(range(0, m, step)))
        sums = sums_of(task, 10)[thread_number()]
        moments(rows, ends, indices(task, 12, m), centre, sums)
        barrier()
    norm, out = norm_of(task, centre), matrix(task, 9, m, p)
    normalise_rows(rows, ends, norm[SCALE], norm[SHIFT], floor_of(task[3]), out)


@kernel
def normalise(args: Any) -> None:
    """Normalises rows.

    0 m, 1 p, 2 width, 3 relu, 4 by_batch, 5 eps (negative for none), 6 messages,
    7 momentum, 8 y [m, p], 9 out [m, p], 10 sums [threads, 2p], 11 norm [5, p],
    12 weight [m]; of the width without padding, or none: 13 offset, 14 gamma, 15 beta,
    16 running_mean, 17 running_var (to normalise by, or to be moved)
    """
    task = carray(args, (18,))
    _normalise(task, matrix(task, 8, task[0], task[1]), None)


@kernel
def lift(args: Any) -> None:
    """Normalises y = a[u] + a[v].

    As for :func:`normalise`, with a [n, p] in place of y; 18 n, 19 ends [2m]
    """
    task = carray(args, (20,))
    _normalise(task, matrix(task, 8, task[18], task[1]), indices(task, 19, 2 * task[0]))


@compiled
def _normalise_backward(task: Array, rows: Array, ends: Any) -> Array:
    m, p, cut = task[0], task[1], cut_of(task[3])
    grad, norm = matrix(task, 6, m, p), matrix(task, 9, OF_NORM, p)
    cut_off(grad, rows, ends, norm, cut, sums_of(task, 8)[thread_number()])
    barrier()
    constant, slope = through_statistics(task, norm)
    if task[2]:
        norm_to_rows(grad, rows, ends, norm, indices(task, 11, m), task[4], constant, slope)
    return grad


@kernel
def normalise_backward(args: Any) -> None:
    """Turns the gradient of normalised rows into that of rows, in place; and finds
    those of offset, gamma and beta.

    0 m, 1 p, 2 whether there is a norm, 3 relu, 4 by_batch, 5 messages, 6 grad [m, p],
    7 y [m, p], 8 sums [threads, 2p], 9 norm [5, p], 10 of_vectors [3, p], 11 weight [m]
    """
    task = carray(args, (12,))
    _normalise_backward(task, matrix(task, 7, task[0], task[1]), None)


@kernel
def lift_backward(args: Any) -> None:
    """Finds the gradient of a, given that of normalised y = a[u] + a[v], and those of
    offset, gamma and beta.

    As for :func:`normalise_backward`, with a [n, p] in place of y; 12 n, 13 ends [2m],
    14 rowptr_t [n + 1], 15 col_t [2m], 16 out [n, p]
    """
    task = carray(args, (17,))
    m, p, n = task[0], task[1], task[12]
    grad = _normalise_backward(task, matrix(task, 7, n, p), indices(task, 13, 2 * m))
    barrier()
    rowptr, col = indices(task, 14, n + 1), indices(task, 15, 2 * m)
    sum_rows(grad, rowptr, col, matrix(task, 16, n, p))
