"""A network over the edges of triangles, on the CPU, in few passes over memory.

The network is a chain of stages: a matrix product, torch's own, and then one function.
This takes the sum over the two ends of an edge (in the first stage), BatchNorm and
ReLU, in one kernel, and the sum over the edges opposite to a node (in the last). It
keeps nothing but its input; in the first stage, that is a row for each node. So a
network of two stages keeps two rows for every edge: what goes into the second product,
and what comes out of it. Rows are padded to a width that products like.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import torch
import torch.nn.functional as F
from torch import Tensor

from graphgym_nc.kernels import row_loops, rows
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
    width = before_sum[-1].width
    z = z if z.size(1) == width else z[:, :width]
    if not pull_out:
        return z
    weight, bias = stages[-1].linear.weight, stages[-1].linear.bias
    z = F.linear(z, weight)
    return z if bias is None else torch.addcmul(z, incidence.messages[:, None].float(), bias)


def _run(
    stage: Stage, z: Tensor, incidence: TriangleIncidence, lift: bool, reduce: bool
) -> Tensor:
    linear, norm, width = stage.linear, stage.norm, stage.width
    padded = -(-width // _PADDED_TO) * _PADDED_TO
    weight = linear.weight
    if weight.shape != (padded, z.size(1)):
        weight = F.pad(weight, (0, z.size(1) - weight.size(1), 0, padded - width))
    y = F.linear(z, weight)
    setting = _Setting(incidence, lift, reduce, stage.relu, width)
    if norm is None:
        return cast(Tensor, _Stage.apply(y, linear.bias, None, None, setting)[0])

    by_batch = norm.training or norm.running_mean is None
    setting = setting._replace(eps=norm.eps, by_batch=by_batch)
    if not by_batch:
        setting = setting._replace(running=(norm.running_mean, norm.running_var))
    out, mean, var = _Stage.apply(y, linear.bias, norm.weight, norm.bias, setting)
    if norm.training:
        count = RowCount(incidence.weight, incidence.num_messages)
        momentum = next_momentum(norm, count)
        track(norm.running_mean, norm.running_var, mean, var, count.total, momentum)
    return cast(Tensor, out)


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
        running: Or else, the mean and variance to normalise by.
    """

    incidence: TriangleIncidence
    lift: bool
    reduce: bool
    relu: bool
    width: int
    eps: float | None = None
    by_batch: bool = False
    running: tuple[Tensor | None, Tensor | None] = (None, None)


class _Stage(torch.autograd.Function):
    """All of a stage but its matrix product. Beside rows, it returns the mean and
    variance by which it has normalised them.
    """

    @staticmethod
    def forward(
        ctx: Any,
        y: Tensor,
        bias: Tensor | None,
        gamma: Tensor | None,
        beta: Tensor | None,
        setting: _Setting,
    ) -> tuple[Tensor, Tensor, Tensor]:
        incidence, width = setting.incidence, setting.width
        out = y.new_empty(incidence.num_edges, y.size(1))
        norm = y.new_empty(row_loops.OF_NORM, y.size(1))
        threads = threads_for(out.numel())
        launch(
            rows.lift if setting.lift else rows.normalise,
            y, out, _sums(y, threads), norm, setting.relu, setting.by_batch,
            -1.0 if setting.eps is None else float(setting.eps), float(incidence.num_messages),
            incidence.weight, width, *map(_contiguous, (bias, gamma, beta, *setting.running)),
            *((incidence.endpoints.col,) if setting.lift else ()),
            threads=threads,
        )  # fmt: skip
        if setting.reduce:
            out = incidence.sum_opposite(out)
        ctx.setting, ctx.norm = setting, norm
        ctx.save_for_backward(y, bias, gamma, beta, *setting.running)
        mean, var = norm[row_loops.MEAN, :width], norm[row_loops.VAR, :width]
        mean = mean if bias is None else mean + bias
        ctx.mark_non_differentiable(mean, var)
        return out, mean, var

    @staticmethod
    def backward(ctx: Any, grad: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:
        if torch.is_grad_enabled():  # the gradient will itself be differentiated
            return *_differentiable_gradients(ctx, grad), None
        y, bias, gamma, beta, *_ = ctx.saved_tensors
        setting, incidence, width = ctx.setting, ctx.setting.incidence, ctx.setting.width
        if setting.reduce:
            grad = incidence.gather_opposite(grad.contiguous())
        elif not setting.lift:
            grad = grad.clone()  # the kernel writes into it
        grad = grad.contiguous()
        of_norm = y.new_empty(2, y.size(1))
        threads = threads_for(grad.numel())
        args = (
            grad, y, _sums(y, threads), ctx.norm, of_norm, setting.relu, setting.by_batch,
            float(incidence.num_messages), incidence.weight, setting.eps is not None,
        )  # fmt: skip
        if setting.lift:
            ends, grad = incidence.endpoints, torch.empty_like(y)
            launch(
                rows.lift_backward, *args, ends.col, ends.rowptr_t, ends.col_t, grad,
                threads=threads,
            )  # fmt: skip
        else:
            launch(rows.normalise_backward, *args, threads=threads)
        of_beta, of_gamma = of_norm[:, :width]
        scale = 0 if setting.by_batch else ctx.norm[row_loops.SCALE, :width]
        return (
            grad,
            None if bias is None else of_beta * scale,
            None if gamma is None else of_gamma,
            None if beta is None else of_beta,
            None,
        )


def _contiguous(vector: Tensor | None) -> Tensor | None:
    return vector if vector is None else vector.contiguous()


def _sums(y: Tensor, threads: int) -> Tensor:
    return y.new_zeros(threads, 2 * y.size(1), dtype=torch.double)


def _differentiable_gradients(ctx: Any, grad: Tensor) -> list[Tensor | None]:
    """The gradients of rows, bias, gamma and beta, as functions of them."""
    y, bias, gamma, beta, running_mean, running_var = ctx.saved_tensors
    inputs, setting, incidence = (y, bias, gamma, beta), ctx.setting, ctx.setting.incidence
    out = incidence.endpoints.row_sum(y) if setting.lift else y
    out = out[:, : setting.width]
    out = out if bias is None else out + bias
    if setting.eps is not None:
        count = RowCount(incidence.weight, incidence.num_messages)
        out = weighted_batch_norm(
            out, running_mean, running_var, gamma, beta, setting.by_batch, 0.0, setting.eps,
            count=count,
        )  # fmt: skip
    out = out.relu() if setting.relu else out
    out = incidence.sum_opposite(out) if setting.reduce else out
    out = F.pad(out, (0, y.size(1) - setting.width))
    wanted = [i for i in range(4) if ctx.needs_input_grad[i]]
    found = torch.autograd.grad(out, [inputs[i] for i in wanted], grad, create_graph=True)
    gradients: list[Tensor | None] = [None] * 4
    for i, gradient in zip(wanted, found, strict=True):
        gradients[i] = gradient
    return gradients
