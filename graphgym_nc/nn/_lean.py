"""MLP2 of one Linear layer, perhaps BatchNorm, and ReLU: without a row for any edge.

All before the ReLU is linear, so that rows of nodes say everything:
:mod:`graphgym_nc.kernels.lean` has the mathematics. Of nodes, a few rows are kept for the
backward pass. Of edges, there are none with kernels; torch makes them for a moment, in either
pass.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeGuard, cast

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.graph import increment_version

from graphgym_nc.nn._stages import Stage
from graphgym_nc.nn._weighted_batch_norm import (
    RowCount,
    aliases,
    next_momentum,
    no_autocast,
    running_statistics,
    track,
)
from graphgym_nc.triangles.incidence import TriangleIncidence
from graphgym_nc.triangles.merged_edges import Edges
from graphgym_nc.utils.autograd import apply


class _Norm(NamedTuple):
    """How messages are normalised, beside parameters.

    Attributes:
        running: The running mean and variance, to normalise by or to be moved.
        by_batch: Whether to normalise by the messages' own mean and variance.
        momentum: By how much these move the running ones.
        eps: What is added to the variance; negative for no normalisation.
    """

    running: tuple[Tensor | None, Tensor | None] = (None, None)
    by_batch: bool = False
    momentum: float | Tensor = 0.0
    eps: float = -1.0

    @staticmethod
    def begin(stage: Stage, incidence: TriangleIncidence) -> '_Norm':
        """How a stage normalises now; in training, this counts a batch."""
        norm = stage.norm
        if norm is None:
            return _Norm()
        running = running_statistics(norm)
        momentum = next_momentum(norm, RowCount(incidence.weight, incidence.num_messages))
        return _Norm(running, norm.training or running[0] is None, momentum, float(norm.eps))


def is_lean(incidence: Edges, stages: Sequence[Stage], x: Tensor) -> TypeGuard[TriangleIncidence]:
    """Whether a network is one that this module is for, in single or double precision."""
    device = x.device.type
    return (
        len(stages) == 1
        and stages[0].relu
        and isinstance(incidence, TriangleIncidence)
        and x.dtype in (torch.float32, torch.float64)
        and all(
            tensor is None or tensor.dtype == x.dtype
            for tensor in (*stages[0].parameters, *stages[0].running)
        )
        and not (torch.amp.is_autocast_available(device) and torch.is_autocast_enabled(device))
    )


def communicate_lean(
    stage: Stage, x: Tensor, incidence: TriangleIncidence, use_kernels: bool
) -> Tensor:
    """See :meth:`graphgym_nc.nn._communicate.communicate`.

    Args:
        stage: The network, which ends with a ReLU.
        x: The node features.
        incidence: The triangles, at least one.
        use_kernels: Whether there are kernels for such features.
    """
    norm = _Norm.begin(stage, incidence)
    if not use_kernels:
        return _by_torch(x, incidence, norm, (*stage.parameters, *norm.running))
    out = cast(Tensor, apply(_Lean, x, incidence, norm, *stage.parameters, *norm.running))
    return out if out.size(1) == stage.width else out[:, : stage.width]


def _by_torch(
    x: Tensor,
    incidence: TriangleIncidence,
    norm: _Norm,
    of_stage: Sequence[Tensor | None],
    moves: bool = True,
) -> Tensor:
    """The sums, in a way that can be differentiated any number of times.

    Args:
        x: The node features.
        incidence: The triangles.
        norm: How messages are normalised.
        of_stage: The parameters of the network, then the running mean and variance.
        moves: Whether the statistics of a batch move these.
    """
    weight, bias, gamma, beta, running_mean, var = of_stage
    assert weight is not None
    a = F.linear(x, weight, bias if bias is None else bias / 2)
    if norm.by_batch:
        number, running_var = incidence.num_messages, var
        half = a.t().mv(incidence.messages.to(a.dtype)) / number  # of the mean
        a = a - half
        var = (a * apply(_Spread, a, incidence)).sum(0) / number
        if moves:
            mean = 2 * half.detach()
            track(running_mean, running_var, mean, var.detach(), number, norm.momentum)
    elif running_mean is not None:
        a = a - running_mean / 2
    if var is not None:
        scale = (var + norm.eps).rsqrt()
        a = a * (scale if gamma is None else gamma * scale)
    a = a if beta is None else a + beta / 2
    return cast(Tensor, apply(_SumMessages, a, incidence))


class _Spread(torch.autograd.Function):
    """The sums of all that edges send, as it is before the ReLU, at both of their ends. The matrix
    of this is symmetric.
    """

    @staticmethod
    def forward(a: Tensor, incidence: TriangleIncidence) -> Tensor:
        a = a.detach()
        rowptr, col, weight = incidence.joined
        out = torch.embedding_bag(
            a, col, rowptr, scale_grad_by_freq=False, mode=0, sparse=False,
            per_sample_weights=weight.to(a.dtype), include_last_offset=True,
        )[0]  # fmt: skip
        return out.addcmul_(a, incidence.messages.to(a.dtype)[:, None], value=2)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.incidence = inputs[1]

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return cast(Tensor, apply(_Spread, grad.contiguous(), ctx.incidence)), None


class _SumMessages(torch.autograd.Function):
    """The sums of ReLU over the edges opposite to every node, given rows that the two ends of
    an edge add up.
    """

    @staticmethod
    def forward(b: Tensor, incidence: TriangleIncidence) -> Tensor:
        return incidence.sum_opposite(incidence.endpoints.row_sum(b.detach()).relu_())

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        b, ctx.incidence = inputs
        ctx.save_for_backward(b)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (b,) = ctx.saved_tensors
        ends = ctx.incidence.endpoints
        of_edges = ctx.incidence.gather_opposite(grad.contiguous())
        of_edges = torch.ops.aten.threshold_backward(of_edges, ends.row_sum(b.detach()), 0)
        return ends.transposed.row_sum(of_edges), None


class _Lean(torch.autograd.Function):
    """The same with kernels."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        incidence: TriangleIncidence,
        norm: _Norm,
        *of_stage: Tensor | None,
    ) -> Tensor:
        from graphgym_nc.kernels import lanes, lean, row_loops
        from graphgym_nc.kernels.openmp import launch, threads_for

        weight, bias, gamma, beta, *running = of_stage
        assert weight is not None
        width = weight.size(0)
        padded = -(-width // lanes.LANES) * lanes.LANES
        a = torch.mm(x, _padded(weight, padded).t())
        ends, sums = incidence.endpoints, incidence.sums
        threads = threads_for(sums.col.numel() * padded)
        t = torch.empty_like(a) if norm.by_batch else None
        of_norm = a.new_empty(row_loops.OF_NORM, padded)
        out = a.new_empty(sums.num_rows, padded)
        launch(
            lean.lean,
            incidence.num_edges, padded, width, True, norm.by_batch, norm.eps,
            float(incidence.num_messages), float(norm.momentum), a, torch.empty_like(a),
            a.new_empty(threads, 2 * padded, dtype=torch.double), of_norm, incidence.weight,
            *(v if v is None else v.contiguous() for v in (bias, gamma, beta)), *running,
            incidence.num_nodes, ends.col, ends.rowptr_t, ends.col_t, incidence.messages,
            a.new_empty(threads, padded, dtype=torch.double), t,
            sums.num_rows, sums.rowptr, sums.col, out,
            threads=threads,
        )  # fmt: skip
        if norm.by_batch:
            increment_version(v for v in running if v is not None and not v.is_inference())
            running = [None, None]  # may change until the backward pass
        ctx.incidence, ctx.norm = incidence, norm
        ctx.save_for_backward(x, a, of_norm, *of_stage[:4], *running)
        return incidence.from_sums(out)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        with no_autocast('cpu'):  # which there was none of in the forward pass, either
            if torch.is_grad_enabled():  # the gradient will itself be differentiated
                return _differentiable_gradients(ctx, grad)
            return _gradients(ctx, grad)


def _gradients(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    from graphgym_nc.kernels import lean
    from graphgym_nc.kernels.openmp import launch, threads_for

    incidence, norm = ctx.incidence, ctx.norm
    x, a, of_norm, weight, bias, gamma, beta, *_ = ctx.saved_tensors
    padded, width = a.size(1), weight.size(0)
    ends, sums = incidence.endpoints, incidence.sums
    of_sums = incidence.to_sums(grad.contiguous())
    out, of_vectors = torch.empty_like(a), a.new_empty(3, padded)
    threads = threads_for(sums.col.numel() * padded)
    launch(
        lean.lean_backward,
        incidence.num_edges, padded, width, True, norm.by_batch, float(incidence.num_messages),
        of_sums, a, a.new_empty(threads, 2 * padded, dtype=torch.double), of_norm, of_vectors,
        torch.empty_like(a), incidence.num_nodes, ends.col, ends.rowptr_t, ends.col_t,
        beta if beta is None else beta.contiguous(), incidence.messages,
        torch.empty_like(a) if norm.by_batch else None, sums.num_rows, sums.rowptr_t, sums.col_t,
        ends.rowptr_t if incidence.twins is not None else sums.rowptr, out,
        incidence.weight,
        threads=threads,
    )  # fmt: skip
    found = (
        torch.mm(out, _padded(weight, padded)) if ctx.needs_input_grad[0] else None,
        torch.mm(out.t(), x)[:width] if ctx.needs_input_grad[3] else None,
        *(
            None if vector is None else of_vector[:width]
            for vector, of_vector in zip((bias, gamma, beta), of_vectors.unbind(), strict=True)
        ),
    )
    return found[0], None, None, *found[1:], None, None


def _differentiable_gradients(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    """The gradients of rows and parameters, as functions of them."""
    saved = aliases(ctx.saved_tensors)
    x, parameters = saved[0], saved[3:]
    out = _by_torch(x, ctx.incidence, ctx.norm, parameters, moves=False)
    inputs = (x, None, None, *parameters)
    wanted = [i for i, needed in enumerate(ctx.needs_input_grad) if needed]
    found = torch.autograd.grad(
        out, [inputs[i] for i in wanted], grad[:, : out.size(1)], create_graph=True
    )
    gradients: list[Tensor | None] = [None] * len(inputs)
    for i, gradient in zip(wanted, found, strict=True):
        gradients[i] = gradient
    return tuple(gradients)


def _padded(weight: Tensor, height: int) -> Tensor:
    return (
        weight if weight.size(0) == height else F.pad(weight, (0, 0, 0, height - weight.size(0)))
    )
