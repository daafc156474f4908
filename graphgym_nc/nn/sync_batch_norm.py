"""BatchNorm over the rows of all processes of a distributed training."""

from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.modules.batchnorm import _BatchNorm

from graphgym_nc.nn._weighted_batch_norm import (
    RowCount,
    apply_batch_norm,
    no_autocast,
    with_row_count,
)
from graphgym_nc.utils.distributed import sum_over_processes, world_size


class SyncBatchNorm(torch.nn.BatchNorm1d):
    """BatchNorm with the statistics of the rows of all processes, on any device
    (:class:`torch.nn.SyncBatchNorm` needs a GPU) and with any number of rows in
    each process, none included.

    In evaluation and in a single process, it is BatchNorm; and a checkpoint of
    the one is a checkpoint of the other.
    """

    def _check_input_dim(self, input: Tensor) -> None:  # noqa: A002
        if input.dim() < 2:
            raise ValueError(f'expected shape [batch, channels, *] (got {list(input.shape)})')

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002
        self._check_input_dim(input)
        rows = input.movedim(1, -1)
        out = with_row_count(rows.flatten(0, -2), partial(synchronized_batch_norm, self))
        return out.view(rows.shape).movedim(-1, 1)

    @classmethod
    def convert(cls, module: torch.nn.Module) -> torch.nn.Module:
        """Replaces every BatchNorm inside of a module, and keeps parameters and
        buffers.

        Returns:
            The module, or what replaces it.
        """
        if isinstance(module, _BatchNorm):
            return _with_state_of(module, cls)
        for name, child in module.named_children():
            setattr(module, name, cls.convert(child))
        return module

    @classmethod
    def revert(cls, module: torch.nn.Module) -> torch.nn.Module:
        """Undoes :meth:`convert` (on :class:`~torch.nn.BatchNorm1d`)."""
        if isinstance(module, cls):
            return _with_state_of(module, torch.nn.BatchNorm1d)
        for name, child in module.named_children():
            setattr(module, name, cls.revert(child))
        return module


#: What :meth:`synchronized_batch_norm` stands in for.
SYNCHRONIZED = (SyncBatchNorm, torch.nn.SyncBatchNorm)


def synchronized_batch_norm(norm: _BatchNorm, x: Tensor, count: RowCount) -> Tensor:
    """Calls a BatchNorm as if the rows of all processes, each repeated as often
    as :obj:`count` says, were here.

    Args:
        norm: The BatchNorm.
        x: The rows of this process, of shape :obj:`[rows, channels]`.
        count: How many rows each of them stands for.
    """
    group = getattr(norm, 'process_group', None)
    if not norm.training or world_size(group) == 1:
        return apply_batch_norm(norm, x, count)
    dtype = x.dtype
    with no_autocast(x.device.type):
        x = x.float() if dtype in (torch.float16, torch.bfloat16) else x
        repeats = count.weight.to(x.dtype)
        out, mean, var, total = _Normalize.apply(
            x, norm.weight, norm.bias, repeats, norm.eps, group
        )
        _track(norm, mean, var, total)
    return out.to(dtype)


def _track(norm: _BatchNorm, mean: Tensor, var: Tensor, total: Tensor) -> None:
    """Moves the running statistics, if there was any row at all."""
    if norm.running_mean is None or norm.running_var is None:
        return
    seen = (total > 0).to(norm.running_mean.dtype)
    assert norm.num_batches_tracked is not None
    norm.num_batches_tracked.add_(total > 0)
    if norm.momentum is None:  # the cumulative average
        factor = seen / norm.num_batches_tracked.clamp(min=1)
    else:
        factor = seen * norm.momentum
    unbiased = var * (total / (total - 1).clamp(min=1))
    for running, new in ((norm.running_mean, mean), (norm.running_var, unbiased)):
        running.add_((new.to(running.dtype) - running) * factor)


def _with_state_of(norm: _BatchNorm, cls: type[_BatchNorm]) -> _BatchNorm:
    new = cls(norm.num_features, norm.eps, norm.momentum, norm.affine, norm.track_running_stats)
    for name, value in (*norm._parameters.items(), *norm._buffers.items()):
        setattr(new, name, value)
    return new.train(norm.training)


class _Normalize(torch.autograd.Function):
    """The synchronised twin of the one in
    :mod:`graphgym_nc.nn._weighted_batch_norm`: every sum over rows is one over
    those of all processes.
    """

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        weight: Tensor | None,
        bias: Tensor | None,
        repeats: Tensor,
        eps: float,
        group: Any,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        sums = torch.cat([x.t().mv(repeats), repeats.sum().view(1)])
        sums = sum_over_processes(sums, group)
        total = sums[-1]
        mean, share = sums[:-1] / total.clamp(min=1), repeats / total.clamp(min=1)
        var = sum_over_processes((x - mean).square_().t().mv(share), group)
        out = F.batch_norm(x, mean, var, weight, bias, training=False, eps=eps)
        ctx.eps, ctx.group = eps, group
        ctx.mark_non_differentiable(mean, var, total)
        ctx.save_for_backward(x, weight, share, mean, var)
        ctx.has_bias = bias is not None
        return out, mean, var, total

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:
        x, weight, share, mean, var = ctx.saved_tensors
        inv_std = (var + ctx.eps).rsqrt()
        scale = inv_std if weight is None else weight * inv_std
        centred = x - mean
        grad_weight = (grad * centred).sum(0) * inv_std
        grad_bias = grad.sum(0)
        # Own parameters have the gradient of own rows: DDP adds them up.
        sums = sum_over_processes(torch.stack([grad_weight, grad_bias]), ctx.group)
        slope = sums[0] * scale * inv_std
        grad_x = grad * scale - share[:, None] * torch.addcmul(sums[1] * scale, centred, slope)
        return (
            grad_x,
            None if weight is None else grad_weight,
            grad_bias if ctx.has_bias else None,
            None,
            None,
            None,
        )
