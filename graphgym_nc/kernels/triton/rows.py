r"""What :mod:`graphgym_nc.nn._triton` does with a row for every edge.

A row :math:`y` is one of a matrix, or the sum of two, for the ends of an edge. It is
normalised as :math:`y \cdot scale + shift` and, if need be, cut off at zero.

What depends on all rows takes two steps: each program goes over its share of them, and
another kernel puts together what the programs have found. Nothing goes to the host.
"""

from collections.abc import Sequence

import torch
import triton
import triton.language as tl
from torch import Tensor

from graphgym_nc.kernels.triton import column_block, launch
from graphgym_nc.kernels.triton.segments import (
    INV_STD,
    MEAN,
    OF_NORM,
    SCALE,
    SHIFT,
    column,
    edge_rows,
    normalised,
)

_ROWS = 16
_PROGRAMS, _PROGRAMS_AT_ONCE, _COLUMNS_AT_ONCE = 512, 64, 32
_OF_GRADIENT = 5  # constant and slope, then the gradients of offset, gamma and beta


@triton.jit
def _merge(count, mean, square, count_b, mean_b, square_b):
    """Count, mean and sum of squared deviations of two sets of rows, put together.

    As in Chan, Golub, LeVeque (1979): nothing cancels, however far from zero rows are.
    """
    total = count + count_b
    share = count_b / tl.maximum(total, 1.0)
    away = mean_b - mean
    return total, mean + away * share, square + square_b + away * away * (count * share)


@triton.jit
def _collapse(count, mean, square):
    """The same of many sets, one in every row."""
    total = tl.sum(count, 0)
    middle = tl.sum(count * mean, 0) / tl.maximum(total, 1.0)
    away = mean - middle[None, :]
    return total, middle, tl.sum(square + count * away * away, 0)


@triton.jit(do_not_specialize=['rows', 'tiles'])
def moments(
    src,
    ends,
    weight,
    parts,
    rows,
    width,
    tiles,
    lift: tl.constexpr,
    block_rows: tl.constexpr,
    block_columns: tl.constexpr,
):
    """The moments of each program's share of rows, which count as often as they send
    messages: count, mean and sum of squared deviations.
    """
    program = tl.program_id(0).to(tl.int64)
    j = tl.program_id(1) * block_columns + tl.arange(0, block_columns)
    count = tl.zeros([block_rows, block_columns], tl.float32)
    mean = tl.zeros([block_rows, block_columns], tl.float32)
    square = tl.zeros([block_rows, block_columns], tl.float32)
    for tile in range(program * tiles, (program + 1) * tiles):
        e = (tile * block_rows + tl.arange(0, block_rows)).to(tl.int64)
        mask = e < rows
        y = edge_rows(src, ends, e, j, mask, width, lift)
        w = tl.load(weight + e, mask=mask, other=0).to(tl.float32)
        count, mean, square = _merge(count, mean, square, w[:, None], y, 0.0)
    count, mean, square = _collapse(count, mean, square)
    place = parts + program * 3 * width + j
    tl.store(place, count, mask=j < width)
    tl.store(place + width, mean, mask=j < width)
    tl.store(place + 2 * width, square, mask=j < width)


@triton.jit(do_not_specialize=['programs', 'messages', 'momentum', 'eps'])
def find_norm(
    norm,
    parts,
    offset,
    gamma,
    beta,
    running_mean,
    running_var,
    cumulative,
    programs,
    width,
    messages,
    momentum,
    eps,
    deviates: tl.constexpr,
    block_rows: tl.constexpr,
    block_columns: tl.constexpr,
):
    """How to normalise: by the moments that programs have found, if any, which move the
    running ones; or by those.
    """
    j = tl.program_id(0) * block_columns + tl.arange(0, block_columns)
    known = j < width
    bias = column(offset, 0, j, width)  # is not in rows yet
    if parts is not None:
        count = tl.zeros([block_rows, block_columns], tl.float32)
        mean = tl.zeros([block_rows, block_columns], tl.float32)
        square = tl.zeros([block_rows, block_columns], tl.float32)
        for first in range(0, programs, block_rows):
            i = first + tl.arange(0, block_rows)
            mask = (i < programs)[:, None] & known[None, :]
            place = parts + i[:, None] * 3 * width + j[None, :]
            count_b = tl.load(place, mask=mask, other=0)
            mean_b = tl.load(place + width, mask=mask, other=0)
            square_b = tl.load(place + 2 * width, mask=mask, other=0)
            count, mean, square = _merge(count, mean, square, count_b, mean_b, square_b)
        count, mean, square = _collapse(count, mean, square)
        var = square / messages
        if running_mean is not None:
            if cumulative is not None:
                momentum = tl.load(cumulative).to(tl.float32)
            before = column(running_mean, 0, j, width)
            moved = before + momentum * (mean + bias - before)
            tl.store(running_mean + j, moved, mask=known)
            before = column(running_var, 0, j, width)
            unbiased = square / tl.maximum(messages - 1.0, 1.0)
            tl.store(running_var + j, before + momentum * (unbiased - before), mask=known)
    elif running_mean is not None:
        mean = column(running_mean, 0, j, width) - bias
        var = column(running_var, 0, j, width)
    else:
        mean = -bias
        var = bias * 0.0 + 1.0
    inv_std = var * 0.0 + 1.0
    if deviates:
        inv_std = 1.0 / tl.sqrt_rn(var + eps)
    scale = inv_std
    if gamma is not None:
        scale = inv_std * column(gamma, 0, j, width)
    tl.store(norm + MEAN * width + j, mean, mask=known)
    tl.store(norm + INV_STD * width + j, inv_std, mask=known)
    tl.store(norm + SCALE * width + j, scale, mask=known)
    tl.store(norm + SHIFT * width + j, column(beta, 0, j, width) - mean * scale, mask=known)


@triton.jit(do_not_specialize=['rows'])
def normalise_rows(
    src,
    ends,
    norm,
    out,
    rows,
    width,
    lift: tl.constexpr,
    relu: tl.constexpr,
    block_rows: tl.constexpr,
    block_columns: tl.constexpr,
):
    """Normalises rows."""
    e = tl.program_id(0).to(tl.int64) * block_rows + tl.arange(0, block_rows)
    j = tl.program_id(1) * block_columns + tl.arange(0, block_columns)
    y = edge_rows(src, ends, e, j, e < rows, width, lift)
    y = normalised(y, column(norm, SCALE, j, width), column(norm, SHIFT, j, width), relu)
    mask = (e < rows)[:, None] & (j < width)[None, :]
    tl.store(out + e[:, None] * width + j[None, :], y, mask=mask)


@triton.jit
def _gradient(grad, y, norm, e, j, mask, width, relu):
    """The gradient of the norm: zero wherever a row was cut off."""
    g = tl.load(grad + e[:, None] * width + j[None, :], mask=mask, other=0).to(tl.float32)
    if relu:
        scale, shift = column(norm, SCALE, j, width), column(norm, SHIFT, j, width)
        g = tl.where(normalised(y, scale, shift, False) <= 0, 0.0, g)
    return g


@triton.jit(do_not_specialize=['rows', 'tiles'])
def sum_gradient(
    grad,
    src,
    ends,
    norm,
    parts,
    rows,
    width,
    tiles,
    lift: tl.constexpr,
    relu: tl.constexpr,
    block_rows: tl.constexpr,
    block_columns: tl.constexpr,
):
    """The sums, over each program's share of rows, of the gradient g of the norm, and of
    g * (y - mean).
    """
    program = tl.program_id(0).to(tl.int64)
    j = tl.program_id(1) * block_columns + tl.arange(0, block_columns)
    mean = column(norm, MEAN, j, width)
    first = tl.zeros([block_rows, block_columns], tl.float32)
    second = tl.zeros([block_rows, block_columns], tl.float32)
    for tile in range(program * tiles, (program + 1) * tiles):
        e = (tile * block_rows + tl.arange(0, block_rows)).to(tl.int64)
        mask = (e < rows)[:, None] & (j < width)[None, :]
        y = edge_rows(src, ends, e, j, e < rows, width, lift)
        g = _gradient(grad, y, norm, e, j, mask, width, relu)
        first += g
        second += tl.where(mask, g * (y - mean[None, :]), 0.0)
    place = parts + program * 2 * width + j
    tl.store(place, tl.sum(first, 0), mask=j < width)
    tl.store(place + width, tl.sum(second, 0), mask=j < width)


@triton.jit(do_not_specialize=['programs', 'messages'])
def find_gradient(
    out,
    parts,
    norm,
    programs,
    width,
    messages,
    by_batch: tl.constexpr,
    block_rows: tl.constexpr,
    block_columns: tl.constexpr,
):
    """What the statistics of a batch take off for every message, constant + slope * (y -
    mean), and the gradients of offset, gamma and beta.
    """
    j = tl.program_id(0) * block_columns + tl.arange(0, block_columns)
    known = j < width
    first = tl.zeros([block_rows, block_columns], tl.float32)
    second = tl.zeros([block_rows, block_columns], tl.float32)
    for begin in range(0, programs, block_rows):
        i = begin + tl.arange(0, block_rows)
        mask = (i < programs)[:, None] & known[None, :]
        place = parts + i[:, None] * 2 * width + j[None, :]
        first += tl.load(place, mask=mask, other=0)
        second += tl.load(place + width, mask=mask, other=0)
    scale, inv_std = column(norm, SCALE, j, width), column(norm, INV_STD, j, width)
    of_beta = tl.sum(first, 0)
    of_gamma = tl.sum(second, 0) * inv_std
    of_offset = of_beta * scale
    if by_batch:
        tl.store(out + j, scale * of_beta / messages, mask=known)
        tl.store(out + width + j, scale * inv_std * of_gamma / messages, mask=known)
        of_offset = of_beta * 0.0  # the mean of a batch takes an offset away again
    tl.store(out + 2 * width + j, of_offset, mask=known)
    tl.store(out + 3 * width + j, of_gamma, mask=known)
    tl.store(out + 4 * width + j, of_beta, mask=known)


@triton.jit(do_not_specialize=['rows'])
def gradient_to_rows(
    grad,
    src,
    ends,
    weight,
    norm,
    through,
    rows,
    width,
    lift: tl.constexpr,
    relu: tl.constexpr,
    by_batch: tl.constexpr,
    block_rows: tl.constexpr,
    block_columns: tl.constexpr,
):
    """Turns the gradient of normalised rows into that of rows, in place."""
    e = tl.program_id(0).to(tl.int64) * block_rows + tl.arange(0, block_rows)
    j = tl.program_id(1) * block_columns + tl.arange(0, block_columns)
    mask = (e < rows)[:, None] & (j < width)[None, :]
    y = edge_rows(src, ends, e, j, e < rows, width, lift)
    g = _gradient(grad, y, norm, e, j, mask, width, relu) * column(norm, SCALE, j, width)[None, :]
    if by_batch:
        w = tl.load(weight + e, mask=e < rows, other=0).to(tl.float32)
        constant, slope = column(through, 0, j, width), column(through, 1, j, width)
        away = y - column(norm, MEAN, j, width)[None, :]
        g -= w[:, None] * (constant[None, :] + slope[None, :] * away)
    tl.store(grad + e[:, None] * width + j[None, :], g, mask=mask)


def norm_of(
    y: Tensor,
    ends: Tensor | None,
    weight: Tensor,
    vectors: Sequence[Tensor | None],
    running: tuple[Tensor | None, Tensor | None],
    by_batch: bool,
    eps: float,
    messages: int,
    momentum: float | Tensor,
) -> Tensor:
    """How to normalise rows, of shape :obj:`[OF_NORM, width]`.

    Args:
        y: The rows, of edges or, with :obj:`ends`, of nodes.
        ends: The two ends of every edge, whose rows are to be added up first.
        weight: How many messages every edge sends.
        vectors: Offset, gamma and beta.
        running: The running mean and variance, to normalise by or to be moved.
        by_batch: Whether to normalise by the rows' own mean and variance.
        eps: What is added to the variance; negative for no normalisation.
        messages: The number of all messages.
        momentum: By how much rows move the running statistics.
    """
    width, parts, programs = y.size(1), None, 0
    norm = y.new_empty(OF_NORM, width, dtype=torch.float32)
    if by_batch:
        grid, tiles, options = _shares(weight.numel(), width)
        programs = grid[0]
        parts = y.new_empty(programs, 3, width, dtype=torch.float32)
        launch(
            moments, grid, y, ends, weight, parts, weight.numel(), width, tiles,
            lift=ends is not None, **options,
        )  # fmt: skip
    cumulative = momentum if isinstance(momentum, Tensor) else None
    launch(
        find_norm, (triton.cdiv(width, _COLUMNS_AT_ONCE),),
        norm, parts, *vectors, *running, cumulative, programs, width, float(messages),
        0.0 if isinstance(momentum, Tensor) else float(momentum), float(eps),
        deviates=eps >= 0, block_rows=_PROGRAMS_AT_ONCE, block_columns=_COLUMNS_AT_ONCE,
    )  # fmt: skip
    return norm


def normalise(y: Tensor, ends: Tensor | None, norm: Tensor, relu: bool) -> Tensor:
    """Normalises rows of edges, or those that the rows of nodes add up to."""
    rows, width = y.size(0) if ends is None else ends.numel() // 2, y.size(1)
    out, block = y.new_empty(rows, width), column_block(width)
    launch(
        normalise_rows, (triton.cdiv(rows, _ROWS), triton.cdiv(width, block)),
        y, ends, norm, out, rows, width,
        lift=ends is not None, relu=relu, block_rows=_ROWS, block_columns=block,
    )  # fmt: skip
    return out


def backward(
    grad: Tensor,
    y: Tensor,
    ends: Tensor | None,
    weight: Tensor,
    norm: Tensor,
    relu: bool,
    by_batch: bool,
    messages: int,
) -> tuple[Tensor, ...]:
    """Turns the gradient of normalised rows into that of rows, in place.

    Returns:
        The gradients of offset, gamma and beta.
    """
    rows, width = grad.shape
    lift, block = ends is not None, column_block(width)
    grid, tiles, options = _shares(rows, width)
    parts = y.new_empty(grid[0], 2, width, dtype=torch.float32)
    launch(
        sum_gradient, grid, grad, y, ends, norm, parts, rows, width, tiles,
        lift=lift, relu=relu, **options,
    )  # fmt: skip
    found = y.new_empty(_OF_GRADIENT, width, dtype=torch.float32)
    launch(
        find_gradient, (triton.cdiv(width, _COLUMNS_AT_ONCE),),
        found, parts, norm, grid[0], width, float(messages),
        by_batch=by_batch, block_rows=_PROGRAMS_AT_ONCE, block_columns=_COLUMNS_AT_ONCE,
    )  # fmt: skip
    launch(
        gradient_to_rows, (triton.cdiv(rows, _ROWS), triton.cdiv(width, block)),
        grad, y, ends, weight, norm, found, rows, width,
        lift=lift, relu=relu, by_batch=by_batch, block_rows=_ROWS, block_columns=block,
    )  # fmt: skip
    return found[2:].unbind()


def _shares(rows: int, width: int) -> tuple[tuple[int, int], int, dict[str, int]]:
    """A grid of programs that share out rows, how many tiles each takes, and their size."""
    block, all_tiles = column_block(width), triton.cdiv(rows, _ROWS)
    tiles = triton.cdiv(all_tiles, _PROGRAMS)
    grid = triton.cdiv(all_tiles, tiles), triton.cdiv(width, block)
    return grid, tiles, {'block_rows': _ROWS, 'block_columns': block}
