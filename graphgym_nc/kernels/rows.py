r"""What :mod:`graphgym_nc.nn.fused` does with a row for every edge.

A row :math:`y` is one of a matrix, or the sum of two, for the ends of an edge. It is
normalised as :math:`y \cdot scale + shift` and, if :obj:`relu` is set, cut off at
zero. One kernel does all of this, and one its gradient: first the sums over rows, in
float64 over blocks of float32, by each thread for itself; and once all
threads have them, what depends on the sums. The docstring of a kernel lists its
arguments, in order; :math:`p` is the width of all rows, with padding.
"""

from typing import Any

import numpy as np
from numba import carray

from graphgym_nc.kernels.openmp import (
    barrier,
    doubles,
    indices,
    integer,
    kernel,
    matrix,
    number,
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
    cut_off,
    equal_share,
    floor_of,
    lift_rows,
    lifted_moments,
    lifted_sums,
    moments,
    normalise_rows,
    sampling_step,
    scale_row,
    share,
    sum_of_threads,
)


@compiled
def _norm(task: Array, centre: Array) -> Array:
    """How to normalise; each thread finds out for itself, and the first notes it down."""
    p, total = centre.size, np.zeros(0)
    by_batch, eps, number_of_rows = integer(task, 5), number(task, 6), number(task, 7)
    offset, gamma, beta = vector(task, 10), vector(task, 11), vector(task, 12)
    running_mean, running_var = vector(task, 13), vector(task, 14)
    norm = np.zeros((OF_NORM, p), np.float32)
    if by_batch:
        total = sum_of_threads(doubles(task, 2))
    for j in range(integer(task, 9)):
        bias = offset[j] if offset.size > 0 else np.float32(0)  # is not in rows yet
        if by_batch:
            mean = total[j] / number_of_rows
            var = total[p + j] / number_of_rows - mean * mean
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
        matrix(task, 3)[:] = norm
        if by_batch and running_mean.size > 0:
            _move(running_mean, running_var, norm, offset, number_of_rows, number(task, 15))
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
def _through_statistics(task: Array) -> tuple[Array, Array]:
    """What mean and variance of a batch take off the gradient of a row, per message:
    constant + slope * (y - mean).
    """
    total, norm, parameters = sum_of_threads(doubles(task, 2)), matrix(task, 3), matrix(task, 4)
    p = norm.shape[1]
    constant, slope = np.zeros(p, np.float32), np.zeros(p, np.float32)
    for j in range(p):
        first, second = total[j], total[p + j] * norm[INV_STD, j]
        constant[j] = norm[SCALE, j] * first / number(task, 7)
        slope[j] = norm[SCALE, j] * norm[INV_STD, j] * second / number(task, 7)
        if thread_number() == 0:
            parameters[0, j], parameters[1, j] = first, second
    return constant, slope


@compiled
def _backward(task: Array, constant: Array, slope: Array) -> None:
    """Turns the gradient of a norm into that of rows."""
    grad, y, norm, weight = matrix(task, 0), matrix(task, 1), matrix(task, 3), indices(task, 8)
    mean, scale, by_batch = norm[MEAN], norm[SCALE], integer(task, 6)
    begin, end = equal_share(weight.size)
    for e in range(begin, end):
        g, row, w = grad[e], y[e], np.float32(weight[e])
        for j in range(g.size):
            g[j] *= scale[j]
        if by_batch:
            for j in range(g.size):
                g[j] -= w * (constant[j] + slope[j] * (row[j] - mean[j]))


@compiled
def _lift_backward(task: Array, constant: Array, slope: Array) -> None:
    """The same, summed up over the edges of every node. What statistics take off is
    linear in both ends of an edge, so it is taken off the sum.
    """
    grad, a, norm, weight = matrix(task, 0), matrix(task, 1), matrix(task, 3), indices(task, 8)
    ends, rowptr, col = indices(task, 10), indices(task, 11), indices(task, 12)
    out, floor = matrix(task, 13), floor_of(integer(task, 5))
    scale, shift, by_batch = norm[SCALE], norm[SHIFT], integer(task, 6)
    half_mean = norm[MEAN] / np.float32(2)
    others = np.empty_like(half_mean)
    begin, end = share(rowptr)
    for v in range(begin, end):
        here, row, messages = a[v], out[v], np.float32(0)
        for j in range(row.size):
            row[j], others[j] = 0, 0
        for i in range(rowptr[v], rowptr[v + 1]):
            e = col[i]
            there, g = a[ends[2 * e] + ends[2 * e + 1] - v], grad[e]
            for j in range(row.size):
                passed = (here[j] + there[j]) * scale[j] + shift[j] > floor
                row[j] += g[j] if passed else np.float32(0)
            if by_batch:
                w = np.float32(weight[e])
                messages += w
                for j in range(row.size):
                    others[j] += w * (there[j] - half_mean[j])
        for j in range(row.size):
            row[j] *= scale[j]
        if by_batch:
            for j in range(row.size):
                deviation = messages * (here[j] - half_mean[j]) + others[j]
                row[j] -= messages * constant[j] + slope[j] * deviation


@kernel
def normalise(args: Any) -> None:
    """Normalises rows.

    y [m, p], out [m, p], sums [threads, 2p], norm [5, p], relu, by_batch, eps (negative
    for none), total, weight [m], width; and, of that width or none: offset, gamma,
    beta, running_mean, running_var (to normalise by, or to be moved); momentum
    """
    task = carray(args, (48,))
    y, out, sums, weight = matrix(task, 0), matrix(task, 1), doubles(task, 2), indices(task, 8)
    centre = np.zeros(y.shape[1], np.float32)
    if integer(task, 5):
        step = sampling_step(weight.size)
        for e in range(0, weight.size, step):
            for j in range(centre.size):
                centre[j] += y[e, j]
        scale_row(centre, 1 / len(range(0, weight.size, step)))
        moments(y, weight, centre, sums[thread_number()])
        barrier()
    norm = _norm(task, centre)
    normalise_rows(y, norm[SCALE], norm[SHIFT], floor_of(integer(task, 4)), out)


@kernel
def lift(args: Any) -> None:
    """Normalises y = a[u] + a[v].

    a [n, p], then as for :func:`normalise`, then ends [2m]
    """
    task = carray(args, (51,))
    a, out, sums, weight = matrix(task, 0), matrix(task, 1), doubles(task, 2), indices(task, 8)
    ends = indices(task, 16)
    centre = np.zeros(a.shape[1], np.float32)
    if integer(task, 5):
        step = sampling_step(weight.size)
        for e in range(0, weight.size, step):
            for j in range(centre.size):
                centre[j] += a[ends[2 * e], j] + a[ends[2 * e + 1], j]
        scale_row(centre, 1 / len(range(0, weight.size, step)))
        lifted_moments(a, ends, weight, centre, sums[thread_number()])
        barrier()
    norm = _norm(task, centre)
    lift_rows(a, ends, norm[SCALE], norm[SHIFT], floor_of(integer(task, 4)), out)


@kernel
def normalise_backward(args: Any) -> None:
    """Turns the gradient of normalised rows into that of rows, in place; and finds
    those of beta and gamma.

    grad [m, p], y [m, p], sums [threads, 2p], norm [5, p], parameters [2, p], relu,
    by_batch, total, weight [m], has_norm
    """
    task = carray(args, (30,))
    grad, y, sums, norm = matrix(task, 0), matrix(task, 1), doubles(task, 2), matrix(task, 3)
    cut_off(grad, y, norm, floor_of(integer(task, 5)), sums[thread_number()])
    barrier()
    constant, slope = _through_statistics(task)
    if integer(task, 9):
        _backward(task, constant, slope)


@kernel
def lift_backward(args: Any) -> None:
    """Finds the gradient of a, given that of normalised y = a[u] + a[v], and those of
    beta and gamma.

    grad [m, p], a [n, p], then as for :func:`normalise_backward`, then ends [2m],
    rowptr_t [n + 1], col_t [2m], out [n, p]
    """
    task = carray(args, (42,))
    grad, a, sums, norm = matrix(task, 0), matrix(task, 1), doubles(task, 2), matrix(task, 3)
    floor = floor_of(integer(task, 5))
    lifted_sums(grad, a, indices(task, 10), norm, floor, sums[thread_number()])
    barrier()
    constant, slope = _through_statistics(task)
    _lift_backward(task, constant, slope)
