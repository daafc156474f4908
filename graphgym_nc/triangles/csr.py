"""Sparse matrices of zeros and ones."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, cast

import torch
from torch import Tensor

from graphgym_nc import kernels
from graphgym_nc.triangles.simple_graph import offsets
from graphgym_nc.utils.autograd import apply


def index_dtype(*sizes: int) -> torch.dtype:
    """The narrowest type of an index whose values, and number of them, do not
    exceed any of some sizes.
    """
    return torch.int32 if max(sizes) <= torch.iinfo(torch.int32).max else torch.int64


@dataclass(frozen=True, eq=False)
class CSR:
    r"""A sparse matrix of counts (mostly zeros and ones) in CSR form, with its
    transpose.

    Attributes:
        rowptr: Where each row begins in :obj:`col`, of shape
            :obj:`[num_rows + 1]`.
        col: The columns of the entries, row by row; a column that is named twice
            counts twice.
        rowptr_t: The same of the transpose, of shape :obj:`[num_cols + 1]`.
        col_t: The columns of the transpose, *i.e.* rows of the matrix.
    """

    rowptr: Tensor
    col: Tensor
    rowptr_t: Tensor
    col_t: Tensor

    @staticmethod
    def from_pairs(row: Tensor, col: Tensor, num_rows: int, num_cols: int) -> 'CSR':
        """Builds the matrix from its entries, in any order."""
        dtype = index_dtype(num_rows, num_cols, row.numel())
        row, col = row.to(dtype), col.to(dtype)
        # Sorted by column, then stably by row: ascending columns in each row.
        col, order = col.sort(stable=True)
        col_t = row[order]
        row, order = col_t.sort(stable=True)
        return CSR(
            offsets(row, num_rows).to(dtype), col[order], offsets(col, num_cols).to(dtype), col_t
        )

    @staticmethod
    def from_rows(rowptr: Tensor, col: Tensor, num_cols: int) -> 'CSR':
        """Builds the matrix from its rows."""
        if not kernels.enabled(col):
            row = torch.arange(rowptr.numel() - 1, device=col.device)
            row = row.repeat_interleave(rowptr.diff(), output_size=col.numel())
            return CSR.from_pairs(row, col, rowptr.numel() - 1, num_cols)
        from graphgym_nc.kernels.graphs import transpose

        rowptr_t, col_t = rowptr.new_empty(num_cols + 1), torch.empty_like(col)
        transpose(rowptr.numpy(), col.numpy(), rowptr_t.numpy(), col_t.numpy())
        return CSR(rowptr, col, rowptr_t, col_t)

    @staticmethod
    def from_lists(col: Tensor, num_cols: int) -> 'CSR':
        """Builds the matrix from rows of as many entries each, of shape
        :obj:`[num_rows, entries]`.
        """
        steps = torch.arange(col.size(0) + 1, dtype=col.dtype, device=col.device)
        rowptr = steps * col.size(1)
        return CSR.from_rows(rowptr, col.flatten(), num_cols)

    @property
    def num_rows(self) -> int:
        return self.rowptr.numel() - 1

    @property
    def num_cols(self) -> int:
        return self.rowptr_t.numel() - 1

    @property
    def transposed(self) -> 'CSR':
        return CSR(self.rowptr_t, self.col_t, self.rowptr, self.col)

    def row_sum(self, src: Tensor) -> Tensor:
        """Multiplies the matrix with :obj:`src`, of shape
        :obj:`[num_cols, channels]`. No atomics: the result is deterministic,
        and so is its gradient, on every device.
        """
        if not src.requires_grad or not torch.is_grad_enabled():
            return _row_sum(src, self.rowptr, self.col)
        return cast(Tensor, apply(_RowSum, src, self.rowptr, self.col, self.rowptr_t, self.col_t))

    def sum_with_self(self, src: Tensor, eps: Tensor) -> Tensor:
        r"""Adds to :meth:`row_sum` of a square matrix :obj:`src` itself, times
        :math:`1 + \epsilon`, where :obj:`eps` has one element.
        """
        if not (src.requires_grad or eps.requires_grad) or not torch.is_grad_enabled():
            return torch.addcmul(_row_sum(src, self.rowptr, self.col), 1 + eps, src)
        parts = self.rowptr, self.col, self.rowptr_t, self.col_t
        return cast(Tensor, apply(_SumWithSelf, src, eps, *parts))

    def to(self, device: Any, non_blocking: bool = False) -> 'CSR':
        """Moves the matrix to a device."""
        return self._map(lambda tensor: tensor.to(device, non_blocking=non_blocking))

    def pin_memory(self) -> 'CSR':
        """Copies the matrix to pinned memory."""
        return self._map(lambda tensor: tensor.pin_memory())

    def _map(self, function: Callable[[Tensor], Tensor]) -> 'CSR':
        return CSR(*(function(getattr(self, field.name)) for field in fields(self)))


def _row_sum(src: Tensor, rowptr: Tensor, col: Tensor) -> Tensor:
    if col.numel() == 0:
        return src.new_zeros(rowptr.numel() - 1, src.size(1))
    if kernels.by_triton(src):
        from graphgym_nc.kernels.triton.segments import sum_rows

        return sum_rows(src, rowptr, col)
    # What `F.embedding_bag` calls, after looking at all that it might have been given.
    return torch.embedding_bag(
        src, col, rowptr, scale_grad_by_freq=False, mode=0, sparse=False,
        per_sample_weights=None, include_last_offset=True,
    )[0]  # fmt: skip


class _RowSum(torch.autograd.Function):
    """A row sum whose backward pass is the row sum of the transpose."""

    @staticmethod
    def forward(
        src: Tensor, rowptr: Tensor, col: Tensor, rowptr_t: Tensor, col_t: Tensor
    ) -> Tensor:
        # Of a tensor with a gradient, `embedding_bag` would note down what its own needs.
        return _row_sum(src.detach(), rowptr, col)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        ctx.save_for_backward(*inputs[1:])
        ctx.by_triton = kernels.by_triton(inputs[0])

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None, None]:
        rowptr, col, rowptr_t, col_t = ctx.saved_tensors
        transposed = CSR(rowptr_t, col_t, rowptr, col)
        with kernels.again(ctx.by_triton):
            return transposed.row_sum(grad.contiguous()), None, None, None, None


class _SumWithSelf(torch.autograd.Function):
    """A row sum and what is added to it, in one step: of small batches, every step
    recorded takes as long as to compute it.
    """

    @staticmethod
    def forward(
        src: Tensor, eps: Tensor, rowptr: Tensor, col: Tensor, rowptr_t: Tensor, col_t: Tensor
    ) -> Tensor:
        return torch.addcmul(_row_sum(src.detach(), rowptr, col), 1 + eps, src)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        ctx.save_for_backward(*inputs)
        ctx.by_triton = kernels.by_triton(inputs[0])

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        src, eps, rowptr, col, rowptr_t, col_t = ctx.saved_tensors
        of_src = of_eps = None
        if ctx.needs_input_grad[0]:
            transposed = CSR(rowptr_t, col_t, rowptr, col)
            with kernels.again(ctx.by_triton):
                of_src = transposed.sum_with_self(grad.contiguous(), eps).to(src.dtype)
        if ctx.needs_input_grad[1]:
            of_eps = (grad * src).sum().view_as(eps)
        return of_src, of_eps, None, None, None, None
