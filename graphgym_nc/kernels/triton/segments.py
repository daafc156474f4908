"""Sums over the rows that a sparse matrix names.

A program adds up some short rows of the matrix side by side. Long rows are split: the
entries of the matrix are cut into windows of equal size, and a program for every window
adds up what a long row has in it. Only the first and the last row of a window can be
longer than it, so there are at most two such parts.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from graphgym_nc.kernels.triton import column_block, launch

#: How many entries a row has at most to be short.
WINDOW = 512

#: What a normalisation is described by: all that it has of a column.
MEAN, INV_STD, SCALE, SHIFT = (tl.constexpr(i) for i in range(4))
OF_NORM = 4

_ROWS, _ENTRIES, _UNROLLED = 4, 16, 4


@triton.jit
def edge_rows(src, ends, e, j, mask, width, lift: tl.constexpr):
    """The rows of edges: those of a matrix, or the sums of two, for the ends of an edge."""
    columns = j[None, :] < width
    if lift:
        u = tl.load(ends + 2 * e, mask=mask, other=0).to(tl.int64)
        v = tl.load(ends + 2 * e + 1, mask=mask, other=0).to(tl.int64)
        both = mask[:, None] & columns
        left = tl.load(src + u[:, None] * width + j[None, :], mask=both, other=0)
        right = tl.load(src + v[:, None] * width + j[None, :], mask=both, other=0)
        out = left.to(tl.float32) + right.to(tl.float32)
    else:
        both = mask[:, None] & columns
        out = tl.load(src + e[:, None] * width + j[None, :], mask=both, other=0).to(tl.float32)
    return out


@triton.jit
def normalised(y, scale, shift, relu: tl.constexpr):
    """Normalised rows, cut off at zero if need be. What is no number stays none."""
    out = y * scale[None, :] + shift[None, :]
    if relu:
        out = tl.where(out <= 0, 0.0, out)
    return out


@triton.jit
def column(matrix, row: tl.constexpr, j, width):
    """Some columns of a row; zeros if there is no such matrix."""
    if matrix is None:
        out = j * 0.0
    else:
        out = tl.load(matrix + row * width + j, mask=j < width, other=0).to(tl.float32)
    return out


@triton.jit
def _terms(
    src,
    ends,
    scale,
    shift,
    e,
    j,
    mask,
    width,
    lift: tl.constexpr,
    normalise: tl.constexpr,
    relu: tl.constexpr,
):
    """What is to be added up: rows of edges, perhaps normalised."""
    out = edge_rows(src, ends, e, j, mask, width, lift)
    if normalise:
        out = tl.where(mask[:, None], normalised(out, scale, shift, relu), 0.0)
    return out


@triton.jit(do_not_specialize=['rows'])
def sum_segments(
    src,
    ends,
    norm,
    rowptr,
    col,
    parts,
    out,
    rows,
    width,
    lift: tl.constexpr,
    relu: tl.constexpr,
    window: tl.constexpr,
    unrolled: tl.constexpr,
    block_rows: tl.constexpr,
    block_columns: tl.constexpr,
):
    """The sums of all rows of a matrix, given those of the parts of long ones, if any."""
    r = tl.program_id(0).to(tl.int64) * block_rows + tl.arange(0, block_rows)
    j = tl.program_id(1) * block_columns + tl.arange(0, block_columns)
    known = r < rows
    begin = tl.load(rowptr + r, mask=known, other=0).to(tl.int64)
    end = tl.load(rowptr + r + 1, mask=known, other=0).to(tl.int64)
    length = end - begin
    scale, shift = column(norm, SCALE, j, width), column(norm, SHIFT, j, width)
    total = tl.zeros([block_rows, block_columns], tl.float32)
    if parts is not None:
        is_long = length > window
        length = tl.where(is_long, 0, length)
        first = begin // window
        number = tl.where(is_long, (end - 1) // window - first + 1, 0)
        for i in range(0, tl.max(number, 0)):
            # The second part of a window is that of a row that begins inside of it.
            part = 2 * (first + i) + tl.where((first + i) * window < begin, 1, 0)
            mask = (i < number)[:, None] & (j[None, :] < width)
            total += tl.load(parts + part[:, None] * width + j[None, :], mask=mask, other=0)
    for i in range(0, tl.max(length, 0), unrolled):
        for k in tl.static_range(unrolled):
            mask = i + k < length
            e = tl.load(col + begin + i + k, mask=mask, other=0).to(tl.int64)
            total += _terms(
                src, ends, scale, shift, e, j, mask, width, lift, norm is not None, relu
            )
    mask = known[:, None] & (j[None, :] < width)
    tl.store(out + r[:, None] * width + j[None, :], total, mask=mask)


@triton.jit(do_not_specialize=['rows', 'entries'])
def sum_windows(
    src,
    ends,
    norm,
    rowptr,
    col,
    parts,
    rows,
    entries,
    width,
    lift: tl.constexpr,
    relu: tl.constexpr,
    window: tl.constexpr,
    block_rows: tl.constexpr,
    block_columns: tl.constexpr,
):
    """The parts of long rows: at most two in a window, that of the row of its first entry
    and that of its last.
    """
    program = tl.program_id(0).to(tl.int64)
    j = tl.program_id(1) * block_columns + tl.arange(0, block_columns)
    scale, shift = column(norm, SCALE, j, width), column(norm, SHIFT, j, width)
    begin = program * window
    end = tl.minimum(begin + window, entries)
    for part in tl.static_range(2):
        entry = begin if part == 0 else end - 1
        low, high = begin * 0, begin * 0 + rows  # the last row that begins at or before the entry
        while high - low > 1:
            middle = (low + high) // 2
            after = tl.load(rowptr + middle).to(tl.int64) > entry
            low = tl.where(after, low, middle)
            high = tl.where(after, middle, high)
        row_begin = tl.load(rowptr + low).to(tl.int64)
        row_end = tl.load(rowptr + low + 1).to(tl.int64)
        before = -1 if part == 0 else begin  # else it is that of the first entry
        if (row_end - row_begin > window) & (row_begin > before):
            stop = tl.minimum(row_end, end)
            total = tl.zeros([block_rows, block_columns], tl.float32)
            for i in range(tl.maximum(row_begin, begin), stop, block_rows):
                entry_at = i + tl.arange(0, block_rows)
                mask = entry_at < stop
                e = tl.load(col + entry_at, mask=mask, other=0).to(tl.int64)
                total += _terms(
                    src, ends, scale, shift, e, j, mask, width, lift, norm is not None, relu
                )
            place = parts + (2 * program + part) * width + j
            tl.store(place, tl.sum(total, 0), mask=j < width)


def sum_rows(
    src: Tensor,
    rowptr: Tensor,
    col: Tensor,
    ends: Tensor | None = None,
    norm: Tensor | None = None,
    relu: bool = False,
    dtype: torch.dtype | None = None,
) -> Tensor:
    """The sum over the entries of every row of a sparse matrix.

    Args:
        src: Rows, of any entry or, with :obj:`ends`, of nodes.
        rowptr: Where each row of the matrix begins in :obj:`col`.
        col: The entries, row by row.
        ends: The two ends of every entry, whose rows are to be added up first, of shape
            :obj:`[2 * entries]`.
        norm: How to normalise rows: see :mod:`graphgym_nc.kernels.triton.rows`.
        relu: Whether to cut off normalised rows at zero.
        dtype: The type of the sums; that of the rows if not given.
    """
    rows, width, entries = rowptr.numel() - 1, src.size(1), col.numel()
    out = src.new_empty(rows, width, dtype=dtype or src.dtype)
    if out.numel() == 0:
        return out
    src, parts, block = src.contiguous(), None, column_block(width)
    columns, lift = triton.cdiv(width, block), ends is not None
    if entries > WINDOW:
        windows = triton.cdiv(entries, WINDOW)
        parts = src.new_empty(2 * windows, width, dtype=torch.float32)
        launch(
            sum_windows, (windows, columns),
            src, ends, norm, rowptr, col, parts, rows, entries, width,
            lift=lift, relu=relu, window=WINDOW, block_rows=_ENTRIES, block_columns=block,
            num_warps=8,
        )  # fmt: skip
    launch(
        sum_segments, (triton.cdiv(rows, _ROWS), columns),
        src, ends, norm, rowptr, col, parts, out, rows, width,
        lift=lift, relu=relu, window=WINDOW, unrolled=_UNROLLED, block_rows=_ROWS,
        block_columns=block, num_warps=2,
    )  # fmt: skip
    return out
