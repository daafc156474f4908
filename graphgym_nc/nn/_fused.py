"""A network over the edges of triangles, on the CPU, in few passes over memory.

The network is a chain of stages: a matrix product, torch's own, and then one kernel.
This takes the sum over the two ends of an edge (in the first stage), BatchNorm with
its running statistics, and ReLU. After the last comes the sum over the edges opposite
to a node. All of it is one function to autograd, as small batches take longer to
record than to compute. It keeps two rows for every edge in a network of two stages:
what goes into the second product, and what comes out of it. Rows are padded to a width
that products like.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.graph import increment_version

from graphgym_nc.kernels import row_loops, rows
from graphgym_nc.kernels.openmp import launch, threads_for
from graphgym_nc.nn._stages import Stage
from graphgym_nc.nn._weighted_batch_norm import (
    RowCount,
    aliases,
    next_momentum,
    no_autocast,
    tracks,
    weighted_batch_norm,
)
from graphgym_nc.triangles.merged_edges import Edges

_PADDED_TO = 8
_ROWS_AT_ONCE = 1 << 12  # whose product stays in the cache

_OF_STAGE = 4  # parameters: weight, bias, gamma, beta
_KEPT = 3  # tensors of a stage: what goes into the product and comes out, and how it is normalised


def communicate_fused(
    stages: Sequence[Stage],
    x: Tensor,
    incidence: Edges,
    edge_attr: Tensor | None = None,
) -> Tensor:
    """See :meth:`graphgym_nc.nn._communicate.communicate`.

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
    count = RowCount(incidence.weight, incidence.num_messages)
    parameters = [tensor for stage in before_sum for tensor in stage.parameters]
    recorded = torch.is_grad_enabled() and any(
        tensor is not None and tensor.requires_grad for tensor in (z, *parameters)
    )
    steps = [_Step.begin(stage, count) for stage in before_sum]
    network = _Network(incidence, lift, steps, recorded)
    z = cast(Tensor, _Communicate.apply(z, network, *parameters))
    width = network.steps[-1].width
    z = z if z.size(1) == width else z[:, :width]
    if not pull_out:
        return z
    weight, bias, *_ = stages[-1].parameters
    z = F.linear(z, weight)
    return z if bias is None else torch.addcmul(z, incidence.messages[:, None].float(), bias)


class _Step(NamedTuple):
    """What a stage does, beside its parameters.

    Attributes:
        width: The width of its rows, without padding.
        relu: Whether to cut off rows at zero.
        eps: What is added to the variance; negative for no normalisation.
        by_batch: Whether to normalise by the rows' own mean and variance.
        momentum: By how much these move the running ones.
        running: The running mean and variance, to normalise by or to be moved.
    """

    width: int
    relu: bool
    eps: float = -1.0
    by_batch: bool = False
    momentum: float = 0.0
    running: tuple[Tensor | None, Tensor | None] = (None, None)

    @staticmethod
    def begin(stage: Stage, count: RowCount) -> '_Step':
        """What a stage does now; in training, this counts a batch."""
        norm = stage.norm
        if norm is None:
            return _Step(stage.width, stage.relu)
        running = stage.running if tracks(norm) else (None, None)
        by_batch = norm.training or running[0] is None
        momentum = float(next_momentum(norm, count.total)) if norm.training else 0.0
        return _Step(stage.width, stage.relu, float(norm.eps), by_batch, momentum, running)

    @property
    def padded(self) -> int:
        return -(-self.width // _PADDED_TO) * _PADDED_TO

    @property
    def normalises_by(self) -> tuple[Tensor | None, Tensor | None]:
        return (None, None) if self.by_batch else self.running

    def after_product(
        self, y: Tensor, lift: bool, incidence: Edges, *vectors: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """All of a stage but its product :obj:`y`, with bias, gamma and beta; and how
        it has normalised rows.
        """
        edges, width = incidence.num_edges, y.size(1)
        out, norm = y.new_empty(edges, width), y.new_empty(row_loops.OF_NORM, width)
        threads = threads_for(edges * width)
        launch(
            rows.lift if lift else rows.normalise,
            edges, width, self.width, self.relu, self.by_batch, self.eps,
            float(incidence.num_messages), self.momentum, y, out, _sums(y, threads), norm,
            incidence.weight, *(v if v is None else v.contiguous() for v in vectors),
            *self.running, y.size(0), incidence.endpoints.col,
            threads=threads,
        )  # fmt: skip
        if self.by_batch:
            increment_version(t for t in self.running if t is not None and not t.is_inference())
        return out, norm

    def backward(
        self, grad: Tensor, y: Tensor, norm: Tensor, lift: bool, incidence: Edges
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        """The gradient of :obj:`y`, and those of bias, gamma and beta, given that of all
        rows, which may be written to.
        """
        edges, width = grad.shape
        of_vectors = y.new_empty(3, width)
        ends, out = incidence.endpoints, torch.empty_like(y) if lift else grad
        threads = threads_for(edges * width)
        launch(
            rows.lift_backward if lift else rows.normalise_backward,
            edges, width, self.eps >= 0, self.relu, self.by_batch, float(incidence.num_messages),
            grad, y, _sums(y, threads), norm, of_vectors, incidence.weight,
            y.size(0), ends.col, ends.rowptr_t, ends.col_t, out,
            threads=threads,
        )  # fmt: skip
        return out, _cut(of_vectors, (3, self.width)).unbind()


class _Network(NamedTuple):
    """A chain of stages, beside their parameters.

    Attributes:
        incidence: The triangles.
        lift: Whether rows of the first product are those of nodes, to be added up over
            the ends of every edge.
        steps: What the stages do.
        recorded: Whether there will be a backward pass.
    """

    incidence: Edges
    lift: bool
    steps: Sequence[_Step]
    recorded: bool


class _Communicate(torch.autograd.Function):
    """The sum of a network over the edges opposite to every node."""

    @staticmethod
    def forward(ctx: Any, z: Tensor, network: _Network, *parameters: Tensor | None) -> Tensor:
        incidence, lift, steps, recorded = network
        kept: list[Tensor] = []
        for i, step in enumerate(steps):
            weight, *vectors = parameters[_OF_STAGE * i : _OF_STAGE * (i + 1)]
            assert weight is not None
            y = torch.mm(z, _padded(weight, step.padded, z.size(1)).t())
            out, norm = step.after_product(y, lift and i == 0, incidence, *vectors)
            kept += (z, y, norm) if recorded else ()
            z = out
        ctx.network = network
        running = (tensor for step in steps for tensor in step.normalises_by)
        ctx.save_for_backward(*kept, *parameters, *running)
        return incidence.sum_opposite(z)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        with no_autocast('cpu'):  # which there was none of in the forward pass, either
            if torch.is_grad_enabled():  # the gradient will itself be differentiated
                return _differentiable_gradients(ctx, grad)
            return _Communicate._gradients(ctx, grad)

    @staticmethod
    def _gradients(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        incidence, lift, steps, _ = ctx.network
        saved = ctx.saved_tensors
        kept, parameters = saved[: _KEPT * len(steps)], saved[_KEPT * len(steps) :]
        of_z, _, *wanted = ctx.needs_input_grad
        found: list[Tensor | None] = []
        grad = incidence.gather_opposite(grad.contiguous())
        for i, step in reversed(list(enumerate(steps))):
            z, y, norm = kept[_KEPT * i : _KEPT * (i + 1)]
            weight, *vectors = parameters[_OF_STAGE * i : _OF_STAGE * (i + 1)]
            grad, of_vectors = step.backward(grad, y, norm, lift and i == 0, incidence)
            found = [
                _cut(torch.mm(grad.t(), z), weight.shape) if wanted[_OF_STAGE * i] else None,
                *(
                    None if v is None else of_v
                    for v, of_v in zip(vectors, of_vectors, strict=True)
                ),
                *found,
            ]
            if i > 0 or of_z:
                grad = _product(grad, _padded(weight, step.padded, z.size(1)))
        return grad if of_z else None, None, *found


def _padded(weight: Tensor, height: int, width: int) -> Tensor:
    if weight.shape == (height, width):
        return weight
    return F.pad(weight, (0, width - weight.size(1), 0, height - weight.size(0)))


def _cut(padded: Tensor, shape: tuple[int, ...]) -> Tensor:
    return padded if padded.shape == shape else padded[: shape[0], : shape[1]]


def _product(grad: Tensor, weight: Tensor) -> Tensor:
    """The product of both, which takes the place of the first if that is large."""
    if grad.size(0) <= _ROWS_AT_ONCE or weight.size(0) != weight.size(1):
        return torch.mm(grad, weight)
    for part in grad.split(_ROWS_AT_ONCE):
        part.copy_(torch.mm(part, weight))
    return grad


def _sums(y: Tensor, threads: int) -> Tensor:
    return y.new_empty(threads, 2 * y.size(1), dtype=torch.double)


def _differentiable_gradients(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    """The gradients of rows and parameters, as functions of them."""
    incidence, lift, steps, _ = ctx.network
    saved = aliases(ctx.saved_tensors)
    z, of_steps = saved[0], saved[_KEPT * len(steps) :]
    parameters, running = of_steps[: _OF_STAGE * len(steps)], of_steps[_OF_STAGE * len(steps) :]
    count = RowCount(incidence.weight, incidence.num_messages)
    out = z
    for i, step in enumerate(steps):
        weight, bias, gamma, beta = parameters[_OF_STAGE * i : _OF_STAGE * (i + 1)]
        out = F.linear(out, weight)
        out = incidence.endpoints.row_sum(out) if lift and i == 0 else out
        out = out if bias is None else out + bias
        if step.eps >= 0:
            mean, var = running[2 * i : 2 * i + 2]
            out = weighted_batch_norm(
                out, mean, var, gamma, beta, step.by_batch, 0.0, step.eps, count=count
            )
        out = out.relu() if step.relu else out
    out = incidence.sum_opposite(out)
    inputs = (z, None, *parameters)
    wanted = [i for i, needed in enumerate(ctx.needs_input_grad) if needed]
    found = torch.autograd.grad(
        out, [inputs[i] for i in wanted], grad[:, : out.size(1)], create_graph=True
    )
    gradients: list[Tensor | None] = [None] * len(inputs)
    for i, gradient in zip(wanted, found, strict=True):
        gradients[i] = gradient
    return tuple(gradients)
