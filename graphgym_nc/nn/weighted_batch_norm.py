"""BatchNorm over rows that stand for several equal rows each."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.modules.batchnorm import _BatchNorm


class RowCount(NamedTuple):
    """How many equal rows every row stands for.

    Attributes:
        weight: The counts, all positive, of shape :obj:`[rows]`.
        total: Their sum (known on the host, so that nothing waits for it).
    """

    weight: Tensor
    total: int


def weighted_batch_norm(norm: _BatchNorm, x: Tensor, count: RowCount) -> Tensor:
    r"""Applies :obj:`norm` to :obj:`x` as if every row were there
    :obj:`count.weight` times.

    With :math:`N = \sum_i w_i`, the batch statistics are

    .. math::
        \mu = \frac{1}{N} \sum_i w_i x_i, \qquad
        \sigma^2 = \frac{1}{N} \sum_i w_i (x_i - \mu)^2,

    and the output, its gradients and the running statistics are those of
    :class:`torch.nn.BatchNorm1d` on the :math:`N` repeated rows. Rows that
    stand for nothing at all (:math:`N = 0`) pass, and leave no trace in the
    running statistics.
    """
    if norm.running_mean is not None and not norm.training:
        return norm(x)
    if isinstance(norm, torch.nn.SyncBatchNorm) and _world_size() > 1:
        raise NotImplementedError(
            "'SyncBatchNorm' inside of 'nn_communicate' cannot yet be synchronised over "
            "several processes; train with 'sync_batchnorm: False'"
        )
    if count.total == 0:
        return x if norm.weight is None else x * norm.weight + norm.bias

    dtype = x.dtype
    # As in torch, statistics of half precision rows are taken in float32; and
    # autocast must not turn the matrix-vector products back.
    with _no_autocast(x.device.type):
        x = x.float() if dtype in (torch.float16, torch.bfloat16) else x
        share = count.weight.to(x.dtype) / count.total
        out, mean, var = _Normalize.apply(x, norm.weight, norm.bias, share, norm.eps)
    if norm.training and norm.running_mean is not None:
        _update_running_stats(norm, mean, var, count.total)
    return out.to(dtype)


class _Normalize(torch.autograd.Function):
    """Normalises over weighted rows, keeping nothing but the input.

    The normalisation with given statistics and its gradient are torch's own,
    fused; what the statistics add to the gradient is done here.
    """

    @staticmethod
    def forward(
        x: Tensor, weight: Tensor | None, bias: Tensor | None, share: Tensor, eps: float
    ) -> tuple[Tensor, Tensor, Tensor]:
        mean = share @ x
        var = share @ (x - mean).square_()
        out = F.batch_norm(x, mean, var, weight, bias, training=False, eps=eps)
        return out, mean, var

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        x, weight, bias, share, ctx.eps = inputs
        _, mean, var = output
        ctx.mark_non_differentiable(mean, var)
        ctx.save_for_backward(x, weight, bias, share, mean, var)

    @staticmethod
    def backward(ctx: Any, grad: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:
        x, weight, bias, share, mean, var = ctx.saved_tensors
        if torch.is_grad_enabled():  # the gradient will itself be differentiated
            inputs = [tensor for tensor in (x, weight, bias) if tensor is not None]
            out = _normalize(x, weight, bias, share, ctx.eps)
            grads = torch.autograd.grad(out, inputs, grad, create_graph=True)
            return (*grads, *[None] * (5 - len(grads)))

        gamma = torch.ones_like(mean) if weight is None else weight
        grad_x, grad_weight, grad_bias = torch.ops.aten.native_batch_norm_backward(
            grad, x, gamma, mean, var, None, None, False, ctx.eps, [True, True, True]
        )
        inv_std = (var + ctx.eps).rsqrt()
        slope = grad_weight * gamma * inv_std.square()
        intercept = grad_bias * gamma * inv_std - mean * slope
        grad_x.addcmul_(torch.addcmul(intercept, x, slope), share[:, None], value=-1)
        if weight is None:
            return grad_x, None, None, None, None
        return grad_x, grad_weight, grad_bias, None, None


def _normalize(
    x: Tensor, weight: Tensor | None, bias: Tensor | None, share: Tensor, eps: float
) -> Tensor:
    x = x - share @ x
    x = x * (share @ x.square() + eps).rsqrt()
    return x if weight is None or bias is None else x * weight + bias


@contextmanager
def batch_norms_count(module: torch.nn.Module, count: RowCount) -> Iterator[None]:
    """Within this context, every BatchNorm inside of :obj:`module` takes its
    input's rows as often as :obj:`count` says.
    """
    norms = [norm for norm in module.modules() if isinstance(norm, _BatchNorm)]
    for norm in norms:
        norm.forward = partial(_forward, norm, count)  # type: ignore[method-assign]
    try:
        yield
    finally:
        for norm in norms:
            del norm.forward


def _forward(norm: _BatchNorm, count: RowCount, x: Tensor) -> Tensor:
    if norm.running_mean is not None and not norm.training:
        return type(norm).forward(norm, x)  # not `norm(x)`, which leads back here
    return weighted_batch_norm(norm, x, count)


def _update_running_stats(norm: _BatchNorm, mean: Tensor, var: Tensor, total: int) -> None:
    assert norm.running_mean is not None
    assert norm.running_var is not None
    assert norm.num_batches_tracked is not None
    norm.num_batches_tracked.add_(1)
    momentum: float | Tensor
    if norm.momentum is None:  # the cumulative average, without a look at the host
        momentum = norm.num_batches_tracked.to(mean.dtype).reciprocal()
    else:
        momentum = norm.momentum
    var = var * (total / max(total - 1, 1))
    for running, new in ((norm.running_mean, mean), (norm.running_var, var)):
        running.add_((new.to(running.dtype) - running) * momentum)


def _no_autocast(device_type: str) -> AbstractContextManager[Any]:
    if torch.amp.is_autocast_available(device_type):
        return torch.autocast(device_type, enabled=False)
    return nullcontext()


def _world_size() -> int:
    distributed = torch.distributed
    ready = distributed.is_available() and distributed.is_initialized()
    return distributed.get_world_size() if ready else 1
