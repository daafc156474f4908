"""BatchNorm over rows that stand for several equal rows each."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import reduce
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.modules.batchnorm import _BatchNorm
from torch.overrides import TorchFunctionMode, handle_torch_function, has_torch_function_unary

from graphgym_nc.utils.autograd import gradients

_ROWS_AT_ONCE = 1 << 13


class RowCount(NamedTuple):
    """How many equal rows every row stands for.

    Attributes:
        weight: The counts, all positive, of shape :obj:`[rows]`.
        total: Their sum (known on the host, so that nothing waits for it).
    """

    weight: Tensor
    total: int


def weighted_batch_norm(  # noqa: PLR0913
    input: Tensor,  # noqa: A002
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float | Tensor = 0.1,
    eps: float = 1e-5,
    *,
    count: RowCount,
) -> Tensor:
    r"""Does what :meth:`torch.nn.functional.batch_norm` would do if every row
    were there :obj:`count.weight` times.

    With :math:`N = \sum_i w_i`, the batch statistics are

    .. math::
        \mu = \frac{1}{N} \sum_i w_i x_i, \qquad
        \sigma^2 = \frac{1}{N} \sum_i w_i (x_i - \mu)^2,

    and the output, its gradients and the running statistics are those of the
    :math:`N` repeated rows. Rows that stand for nothing at all
    (:math:`N = 0`) pass, and leave no trace in the running statistics.
    """
    x = input
    if not training:
        return F.batch_norm(x, running_mean, running_var, weight, bias, eps=eps)
    if count.total == 0:
        return _affine(x, weight, bias)

    dtype = x.dtype
    # As in torch, statistics of half precision rows are taken in float32; and
    # autocast must not turn the matrix-vector products back.
    with no_autocast(x.device.type):
        x = x.float() if dtype in (torch.float16, torch.bfloat16) else x
        share = count.weight.to(x.dtype) / count.total
        gamma, beta = (t if t is None else t.to(x.dtype) for t in (weight, bias))
        out, mean, var = _Normalize.apply(x, gamma, beta, share, eps)
        track(running_mean, running_var, mean, var, count.total, momentum)
    return out.to(dtype)


def track(
    running_mean: Tensor | None,
    running_var: Tensor | None,
    mean: Tensor,
    var: Tensor,
    total: int,
    momentum: float | Tensor,
) -> None:
    """Updates running statistics with those of :obj:`total` rows."""
    if running_mean is None or running_var is None:
        return
    var = var * (total / max(total - 1, 1))
    new = [mean.to(running_mean.dtype), var.to(running_var.dtype)]
    if isinstance(momentum, Tensor):
        running_mean.lerp_(new[0], momentum)
        running_var.lerp_(new[1], momentum)
    else:
        torch._foreach_lerp_([running_mean, running_var], new, momentum)


def next_momentum(norm: _BatchNorm, total: int) -> float | Tensor:
    """Counts a batch, and tells what weight it has in the running statistics:
    without a look at the host, also for the cumulative average
    (:obj:`momentum=None`).
    """
    if norm.training and norm.track_running_stats and total > 0:
        batches = norm.num_batches_tracked
        if batches is not None:
            batches.add_(1)
            if norm.momentum is None:
                return batches.float().reciprocal()
    return 0.0 if norm.momentum is None else norm.momentum


def tracks(norm: _BatchNorm) -> bool:
    """Whether a BatchNorm moves or normalises by its running statistics now, if it has any."""
    return norm.track_running_stats or not norm.training


def running_statistics(norm: _BatchNorm) -> tuple[Tensor | None, Tensor | None]:
    """The mean and variance that a BatchNorm moves or normalises by now, if any."""
    return (norm.running_mean, norm.running_var) if tracks(norm) else (None, None)


def apply_batch_norm(norm: _BatchNorm, x: Tensor, count: RowCount) -> Tensor:
    """Calls a BatchNorm as its own :obj:`forward` would, but weighted."""
    momentum = next_momentum(norm, count.total)
    return weighted_batch_norm(
        x,
        *running_statistics(norm),
        norm.weight,
        norm.bias,
        norm.training or norm.running_mean is None,
        momentum,
        norm.eps,
        count=count,
    )


class CountRows(TorchFunctionMode):
    """Within this context, every call of
    :meth:`torch.nn.functional.batch_norm` is weighted: no BatchNorm, however
    deep inside of a module, needs to be known or changed.

    Args:
        count: The weights.
    """

    def __init__(self, count: RowCount) -> None:
        super().__init__()
        self.count = count

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if func is F.batch_norm:
            return weighted_batch_norm(*args, **kwargs, count=self.count)
        if func is with_row_count:
            x, function = args
            return function(x, self.count)
        return func(*args, **kwargs)


def with_row_count(x: Tensor, function: Callable[[Tensor, RowCount], Tensor]) -> Tensor:
    """Calls a function of rows and their weights: those of the
    :class:`CountRows` around it, or else ones.
    """
    if has_torch_function_unary(x):
        return handle_torch_function(with_row_count, (x,), x, function)
    return function(x, RowCount(x.new_ones(x.size(0)), x.size(0)))


class _Normalize(torch.autograd.Function):
    """Normalises over weighted rows, keeping nothing but the input.

    The normalisation with given statistics and its gradient are torch's own,
    fused; what the statistics add to the gradient is done here.
    """

    @staticmethod
    def forward(
        x: Tensor, weight: Tensor | None, bias: Tensor | None, share: Tensor, eps: float
    ) -> tuple[Tensor, Tensor, Tensor]:
        # `mv`, unlike `@`, is never rounded to TF32.
        mean = x.t().mv(share)
        var = reduce(
            torch.add,
            ((part - mean).square_().t().mv(of_part) for part, of_part in parts(x, share)),
        )
        out = F.batch_norm(x, mean, var, weight, bias, training=False, eps=eps)
        return out, mean, var

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        x, weight, bias, share, ctx.eps = inputs
        _, mean, var = output
        ctx.mark_non_differentiable(mean, var)
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(x, weight, bias, share, mean, var)

    @staticmethod
    def backward(ctx: Any, grad: Tensor | None, *_: None) -> tuple[Tensor | None, ...]:
        if grad is None:
            return (None,) * 5
        x, weight, bias, share, mean, var = ctx.saved_tensors
        if torch.is_grad_enabled():  # the gradient will itself be differentiated
            x, weight, bias, share = aliases(ctx.saved_tensors[:4])
            out = normalised(x, weight, bias, share, ctx.eps)
            return *gradients(ctx, out, (x, weight, bias), grad), None, None

        gamma = torch.ones_like(mean) if weight is None else weight
        grad_x, grad_weight, grad_bias = torch.ops.aten.native_batch_norm_backward(
            grad, x, gamma, mean, var, None, None, False, ctx.eps, [True, True, True]
        )
        inv_std = (var + ctx.eps).rsqrt_()
        scale = gamma * inv_std
        slope = grad_weight * scale * inv_std
        intercept = torch.addcmul(grad_bias * scale, mean, slope, value=-1)
        for part_grad, part, part_share in parts(grad_x, x, share):
            through_statistics = torch.addcmul(intercept, part, slope)
            part_grad.addcmul_(through_statistics, part_share[:, None], value=-1)
        return (
            grad_x,
            None if weight is None else grad_weight,
            None if bias is None else grad_bias,
            None,
            None,
        )


def parts(*tensors: Tensor) -> Iterator[tuple[Tensor, ...]]:
    """The rows of tensors, on the CPU in parts that its caches can hold."""
    whole = tensors[0].device.type != 'cpu' or torch.compiler.is_compiling()
    if whole or tensors[0].size(0) <= _ROWS_AT_ONCE:
        return iter([tensors])
    return zip(*(tensor.split(_ROWS_AT_ONCE) for tensor in tensors), strict=True)


def normalised(
    x: Tensor, weight: Tensor | None, bias: Tensor | None, share: Tensor, eps: float
) -> Tensor:
    """BatchNorm by the statistics of rows, as operations that have gradients of their own."""
    centred = x - x.t().mv(share)
    variance = centred.square().t().mv(share)
    return _affine(centred * (variance + eps).rsqrt(), weight, bias)


def aliases(tensors: Iterable[Any]) -> list[Any]:
    """Views to differentiate by: of what a function has saved, one may depend on another
    or be the same, and each is to have only its own share of the gradient.
    """
    return [tensor if tensor is None else tensor.view_as(tensor) for tensor in tensors]


def _affine(x: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    x = x if weight is None else x * weight
    return x if bias is None else x + bias


def no_autocast(device_type: str) -> AbstractContextManager[Any]:
    """A context in which nothing is rounded to half precision."""
    return (
        torch.autocast(device_type, enabled=False) if is_autocast(device_type) else nullcontext()
    )


def is_autocast(device_type: str) -> bool:
    """Whether products are rounded to half precision."""
    available = torch.amp.is_autocast_available(device_type)
    return available and torch.is_autocast_enabled(device_type)
