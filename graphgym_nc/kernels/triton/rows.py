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

#: How many rows, programs and columns a program looks at at once.
ROWS, PROGRAMS_AT_ONCE, COLUMNS_AT_ONCE = 16, 64, 32

_PROGRAMS = 512


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
        grid, tiles, options = shares(weight.numel(), width)
        programs = grid[0]
        parts = y.new_empty(programs, 3, width, dtype=torch.float32)
        launch(
            moments, grid, y, ends, weight, parts, weight.numel(), width, tiles,
            lift=ends is not None, **options,
        )  # fmt: skip
    cumulative = momentum if isinstance(momentum, Tensor) else None
    launch(
        find_norm, (triton.cdiv(width, COLUMNS_AT_ONCE),),
        norm, parts, *vectors, *running, cumulative, programs, width, float(messages),
        0.0 if isinstance(momentum, Tensor) else float(momentum), float(eps),
        deviates=eps >= 0, block_rows=PROGRAMS_AT_ONCE, block_columns=COLUMNS_AT_ONCE,
    )  # fmt: skip
    return norm


def normalise(y: Tensor, ends: Tensor | None, norm: Tensor, relu: bool) -> Tensor:
    """Normalises rows of edges, or those that the rows of nodes add up to."""
    rows, width = y.size(0) if ends is None else ends.numel() // 2, y.size(1)
    out, block = y.new_empty(rows, width), column_block(width)
    launch(
        normalise_rows, (triton.cdiv(rows, ROWS), triton.cdiv(width, block)),
        y, ends, norm, out, rows, width,
        lift=ends is not None, relu=relu, block_rows=ROWS, block_columns=block,
    )  # fmt: skip
    return out


def shares(rows: int, width: int) -> tuple[tuple[int, int], int, dict[str, int]]:
    """A grid of programs that share out rows, how many tiles each takes, and their size."""
    block, all_tiles = column_block(width), triton.cdiv(rows, ROWS)
    tiles = triton.cdiv(all_tiles, _PROGRAMS)
    grid = triton.cdiv(all_tiles, tiles), triton.cdiv(width, block)
    return grid, tiles, {'block_rows': ROWS, 'block_columns': block}
