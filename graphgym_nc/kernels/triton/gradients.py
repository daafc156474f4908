"""The backward pass of :mod:`graphgym_nc.kernels.triton.rows`."""

import torch
import triton
import triton.language as tl
from torch import Tensor

from graphgym_nc.kernels.triton import column_block, launch
from graphgym_nc.kernels.triton.rows import COLUMNS_AT_ONCE, PROGRAMS_AT_ONCE, ROWS, shares
from graphgym_nc.kernels.triton.segments import (
    INV_STD,
    MEAN,
    SCALE,
    SHIFT,
    column,
    edge_rows,
    normalised,
)

_FOUND = 5  # constant and slope, then the gradients of offset, gamma and beta


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
    grid, tiles, options = shares(rows, width)
    parts = y.new_empty(grid[0], 2, width, dtype=torch.float32)
    launch(
        sum_gradient, grid, grad, y, ends, norm, parts, rows, width, tiles,
        lift=lift, relu=relu, **options,
    )  # fmt: skip
    found = y.new_empty(_FOUND, width, dtype=torch.float32)
    launch(
        find_gradient, (triton.cdiv(width, COLUMNS_AT_ONCE),),
        found, parts, norm, grid[0], width, float(messages),
        by_batch=by_batch, block_rows=PROGRAMS_AT_ONCE, block_columns=COLUMNS_AT_ONCE,
    )  # fmt: skip
    launch(
        gradient_to_rows, (triton.cdiv(rows, ROWS), triton.cdiv(width, block)),
        grad, y, ends, weight, norm, found, rows, width,
        lift=lift, relu=relu, by_batch=by_batch, block_rows=ROWS, block_columns=block,
    )  # fmt: skip
    return found[2:].unbind()
