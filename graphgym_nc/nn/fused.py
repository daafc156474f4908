"""A network over the edges of triangles, on the CPU, in few passes over memory.

The network is a chain of stages: a Linear layer, torch's own, and then one
function that takes the sum over the two ends of an edge (in the first stage),
BatchNorm, ReLU, and the sum over the edges opposite to a node (in the last).
This function keeps nothing but its input; in the first stage, that is a row for
each node. So a network of two stages keeps two rows for every edge: what goes
into the second Linear layer, and what comes out of it. Rows are padded to a
width that matrix products like.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import torch
import torch.nn.functional as F
from torch import Tensor

from graphgym_nc.kernels import rows
from graphgym_nc.kernels.openmp import launch, threads_for
from graphgym_nc.nn.stages import Stage
from graphgym_nc.nn.weighted_batch_norm import (
    RowCount,
    next_momentum,
    track,
    weighted_batch_norm,
)
from graphgym_nc.triangle_incidence import TriangleIncidence

_PADDED_TO = 8
_SAMPLE = 64


def communicate_fused(
    stages: Sequence[Stage],
    x: Tensor,
    incidence: TriangleIncidence,
    edge_attr: Tensor | None = None,
) -> Tensor:
    """See :meth:`graphgym_nc.nn.communicate.communicate`.

    Args:
        stages: The network.
        x: The node features, in float32 on the CPU.
        incidence: The triangles, at least one.
        edge_attr: Features of the edges.
    """
    per_node = incidence.num_nodes < incidence.num_edges
    lift = per_node and edge_attr is None
    z = x if lift else incidence.endpoints.row_sum(x)
    z = z if edge_attr is None else z + edge_attr

    pull_out = per_node and len(stages) > 1 and stages[-1].is_linear
    before_sum = stages[:-1] if pull_out else stages
    for i, stage in enumerate(before_sum):
        z = _run(stage, z, incidence, lift and i == 0, stage is before_sum[-1])
    z = z[:, : before_sum[-1].width]
    if not pull_out:
        return z
    weight, bias = stages[-1].linear.weight, stages[-1].linear.bias
    z = F.linear(z, weight)
    return z if bias is None else torch.addcmul(z, incidence.messages[:, None].float(), bias)


def _run(
    stage: Stage, z: Tensor, incidence: TriangleIncidence, lift: bool, reduce: bool
) -> Tensor:
    linear, norm = stage.linear, stage.norm
    width = stage.width
    padded = -(-width // _PADDED_TO) * _PADDED_TO

    def pad(vector: Tensor | None) -> Tensor | None:
        if vector is None or width == padded:
            return vector
        return F.pad(vector, (0, padded - width))

    weight = linear.weight
    if weight.shape != (padded, z.size(1)):
        weight = F.pad(weight, (0, z.size(1) - weight.size(1), 0, padded - width))
    y = F.linear(z, weight)
    setting = _Setting(incidence, lift, reduce, stage.relu, width)
    if norm is None:
        return cast(Tensor, _Stage.apply(y, pad(linear.bias), None, None, None, None, setting)[0])

    by_batch = norm.training or norm.running_mean is None
    setting = setting._replace(eps=norm.eps, by_batch=by_batch)
    running = (None, None) if by_batch else (pad(norm.running_mean), pad(norm.running_var))
    out, mean, var = _Stage.apply(
        y, pad(linear.bias), pad(norm.weight), pad(norm.bias), *running, setting
    )
    if norm.training:
        count = RowCount(incidence.weight, incidence.num_messages)
        momentum = next_momentum(norm, count)
        statistics = norm.running_mean, norm.running_var, mean[:width], var[:width]
        track(*statistics, count.total, momentum)
    return out


class _Setting(NamedTuple):
    """What a stage does, beside its tensors.

    Attributes:
        incidence: The triangles.
        lift: Whether rows are those of nodes, to be added up over the ends of
            every edge.
        reduce: Whether rows are to be added up over the edges opposite to a node.
        relu: Whether to cut off rows at zero.
        width: The width of rows without padding.
        eps: What is added to the variance; :obj:`None` for no normalisation.
        by_batch: Whether to normalise by the rows' own mean and variance.
    """

    incidence: TriangleIncidence
    lift: bool
    reduce: bool
    relu: bool
    width: int
    eps: float | None = None
    by_batch: bool = False

    @property
    def ends(self) -> Tensor:
        return self.incidence.endpoints.col

    @property
    def weight(self) -> Tensor:
        return self.incidence.weight.float()


class _Affine(NamedTuple):
    """How rows are normalised: as :obj:`(y - mean) * inv_std * weight + bias`
    or, in short, :obj:`y * scale + shift`.
    """

    mean: Tensor
    inv_std: Tensor
    scale: Tensor
    shift: Tensor


class _Stage(torch.autograd.Function):
    """All of a stage but its Linear layer; :obj:`offset` is that one's bias."""

    @staticmethod
    def forward(
        ctx: Any,
        y: Tensor,
        offset: Tensor | None,
        weight: Tensor | None,
        bias: Tensor | None,
        running_mean: Tensor | None,
        running_var: Tensor | None,
        setting: _Setting,
    ) -> tuple[Tensor, Tensor, Tensor]:
        zeros, ones = y.new_zeros(y.size(1)), y.new_ones(y.size(1))
        offset_or_zero = zeros if offset is None else offset
        if setting.by_batch:
            mean, var = _moments(y, setting)
        elif running_mean is not None and running_var is not None:
            mean, var = running_mean - offset_or_zero, running_var
        else:
            mean, var = -offset_or_zero, ones
        inv_std = ones if setting.eps is None else (var + setting.eps).rsqrt()
        inv_std[setting.width :] = 0  # of padding, which may have no deviation at all
        scale = inv_std if weight is None else inv_std * weight
        shift = (zeros if bias is None else bias) - mean * scale

        incidence = setting.incidence
        out = y.new_empty(incidence.num_edges, y.size(1))
        threads = threads_for(out.numel())
        if setting.lift:
            launch(rows.lift, y, setting.ends, scale, shift, setting.relu, out, threads=threads)
        else:
            launch(rows.normalise, y, scale, shift, setting.relu, out, threads=threads)
        if setting.reduce:
            out = incidence.sum_opposite(out)

        ctx.setting, ctx.affine = setting, _Affine(mean, inv_std, scale, shift)
        ctx.save_for_backward(y, offset, weight, bias, running_mean, running_var)
        true_mean = mean + offset_or_zero
        ctx.mark_non_differentiable(true_mean, var)
        return out, true_mean, var

    @staticmethod
    def backward(ctx: Any, grad: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:
        y, offset, weight, bias, *_ = ctx.saved_tensors
        if torch.is_grad_enabled():  # the gradient will itself be differentiated
            return *_differentiable_gradients(ctx, grad), None, None, None
        setting, affine = ctx.setting, ctx.affine
        if setting.reduce:
            grad = setting.incidence.gather_opposite(grad.contiguous())
        elif not setting.lift:
            grad = grad.clone()  # what follows writes into it
        backward = _lift_backward if setting.lift else _backward
        grad, first, second = backward(grad.contiguous(), y, setting, affine)
        return (
            grad,
            None if offset is None else first * (0 if setting.by_batch else affine.scale),
            None if weight is None else second * affine.inv_std,
            None if bias is None else first,
            None,
            None,
            None,
        )


def _moments(y: Tensor, setting: _Setting) -> tuple[Tensor, Tensor]:
    """Mean and variance of rows, each as often as its edge sends messages."""
    # About the mean of some of them, so that nothing cancels.
    sample = slice(None, None, max(1, setting.incidence.num_edges // _SAMPLE))
    if setting.lift:
        centre = y[setting.ends.view(-1, 2)[sample].flatten()].mean(dim=0) * 2
    else:
        centre = y[sample].mean(dim=0)
    threads = threads_for(setting.incidence.num_edges * y.size(1))
    sums = y.new_zeros(threads, 2 * y.size(1), dtype=torch.double)
    if setting.lift:
        launch(rows.lift_moments, y, setting.ends, setting.weight, centre, sums, threads=threads)
    else:
        launch(rows.moments, y, setting.weight, centre, sums, threads=threads)
    mean, square = (sums.sum(dim=0) / setting.incidence.num_messages).chunk(2)
    var = (square - mean.square()).clamp_(min=0)
    return centre + mean.float(), var.float()


def _backward(
    grad: Tensor, y: Tensor, setting: _Setting, affine: _Affine
) -> tuple[Tensor, Tensor, Tensor]:
    """Turns the gradient of normalised rows into that of rows, in place.

    Returns:
        It, and the sums over rows of :math:`g` and :math:`g (y - mean)`, where
        :math:`g` is the gradient of the norm.
    """
    mean, _, scale, shift = affine
    threads = threads_for(grad.numel())
    sums = y.new_zeros(threads, 2 * y.size(1), dtype=torch.double)
    launch(rows.cut_off, grad, y, scale, shift, setting.relu, mean, sums, threads=threads)
    first, second = sums.sum(dim=0).float().chunk(2)
    if setting.eps is not None:
        constant, slope = _through_statistics(first, second, setting, affine)
        launch(
            rows.norm_backward, grad, y, setting.weight, scale, mean, constant, slope,
            threads=threads,
        )  # fmt: skip
    return grad, first, second


def _lift_backward(
    grad: Tensor, y: Tensor, setting: _Setting, affine: _Affine
) -> tuple[Tensor, Tensor, Tensor]:
    """The same for rows that are sums over the ends of an edge; :obj:`grad` is
    left as it is.
    """
    mean, _, scale, shift = affine
    threads = threads_for(grad.numel())
    sums = y.new_zeros(threads, 2 * y.size(1), dtype=torch.double)
    launch(
        rows.lift_sums, grad, y, setting.ends, scale, shift, setting.relu, mean, sums,
        threads=threads,
    )  # fmt: skip
    first, second = sums.sum(dim=0).float().chunk(2)
    constant, slope = _through_statistics(first, second, setting, affine)
    out = torch.empty_like(y)
    endpoints = setting.incidence.endpoints
    launch(
        rows.lift_backward, grad, y, setting.ends, endpoints.rowptr_t, endpoints.col_t,
        setting.weight, scale, shift, setting.relu, mean, constant, slope, out,
        threads=threads,
    )  # fmt: skip
    return out, first, second


def _through_statistics(
    first: Tensor, second: Tensor, setting: _Setting, affine: _Affine
) -> tuple[Tensor, Tensor]:
    """What mean and variance of a batch add to the gradient, per message."""
    if not setting.by_batch:
        return torch.zeros_like(first), torch.zeros_like(first)
    number = setting.incidence.num_messages
    slope = affine.scale * affine.inv_std.square() * second / number
    return affine.scale * first / number, slope


def _differentiable_gradients(ctx: Any, grad: Tensor) -> list[Tensor | None]:
    """The gradients of rows, offset, weight and bias, as functions of them."""
    y, offset, weight, bias, running_mean, running_var = inputs = ctx.saved_tensors
    setting, incidence = ctx.setting, ctx.setting.incidence
    z = incidence.endpoints.row_sum(y) if setting.lift else y
    z = z if offset is None else z + offset
    if setting.eps is not None:
        count = RowCount(incidence.weight, incidence.num_messages)
        z = weighted_batch_norm(
            z, running_mean, running_var, weight, bias, setting.by_batch, 0.0, setting.eps,
            count=count,
        )  # fmt: skip
    z = z.relu() if setting.relu else z
    z = incidence.sum_opposite(z) if setting.reduce else z
    wanted = [i for i in range(4) if ctx.needs_input_grad[i]]
    found = torch.autograd.grad(z, [inputs[i] for i in wanted], grad, create_graph=True)
    gradients: list[Tensor | None] = [None] * 4
    for i, gradient in zip(wanted, found, strict=True):
        gradients[i] = gradient
    return gradients
