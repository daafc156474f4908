"""What paths with kernels of their own have in common: a network over the edges of
triangles is a chain of stages, and one function to autograd.

What such a function saves is, for every stage, what goes into the product, what comes
out, and how it is normalised; then the parameters of all stages; then the running
statistics that each normalises by.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import torch
import torch.nn.functional as F
from torch import Tensor
from typing_extensions import Self

from graphgym_nc.nn._stages import Stage
from graphgym_nc.nn._weighted_batch_norm import (
    RowCount,
    aliases,
    next_momentum,
    tracks,
    weighted_batch_norm,
)
from graphgym_nc.triangles.merged_edges import Edges
from graphgym_nc.utils.autograd import apply

OF_STAGE = 4  # parameters: weight, bias, gamma, beta
KEPT = 3  # tensors of a stage


class Step(NamedTuple):
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
    momentum: float | Tensor = 0.0
    running: tuple[Tensor | None, Tensor | None] = (None, None)

    @classmethod
    def begin(cls, stage: Stage, count: RowCount) -> Self:
        """What a stage does now; in training, this counts a batch."""
        norm = stage.norm
        if norm is None:
            return cls(stage.width, stage.relu)
        running = stage.running if tracks(norm) else (None, None)
        by_batch = norm.training or running[0] is None
        momentum = next_momentum(norm, count.total) if norm.training else 0.0
        return cls(stage.width, stage.relu, float(norm.eps), by_batch, momentum, running)

    @property
    def normalises_by(self) -> tuple[Tensor | None, Tensor | None]:
        return (None, None) if self.by_batch else self.running


class Network(NamedTuple):
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
    steps: Sequence[Any]
    recorded: bool


def communicate_by(
    function: type[torch.autograd.Function],
    step: type[Step],
    stages: Sequence[Stage],
    x: Tensor,
    incidence: Edges,
    edge_attr: Tensor | None = None,
) -> Tensor:
    """See :meth:`graphgym_nc.nn._communicate.communicate`.

    Args:
        function: What computes the sum of a network over the edges opposite to every node,
            given rows, the :class:`Network`, and its parameters.
        step: The class of its steps.
        stages: The network.
        x: The node features.
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
    steps = [step.begin(stage, count) for stage in before_sum]
    network = Network(incidence, lift, steps, recorded)
    z = cast(Tensor, apply(function, z, network, *parameters))
    width = steps[-1].width
    z = z if z.size(1) == width else z[:, :width]
    if not pull_out:
        return z
    weight, bias, *_ = stages[-1].parameters
    z = F.linear(z, weight.to(z.dtype))
    return z if bias is None else torch.addcmul(z, incidence.messages[:, None].to(z.dtype), bias)


def differentiable_gradients(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    """The gradients of rows and parameters, as functions of them."""
    incidence, lift, steps, _ = ctx.network
    saved = aliases(ctx.saved_tensors)
    z, of_steps = saved[0], saved[KEPT * len(steps) :]
    parameters, running = of_steps[: OF_STAGE * len(steps)], of_steps[OF_STAGE * len(steps) :]
    count = RowCount(incidence.weight, incidence.num_messages)
    out = z
    for i, step in enumerate(steps):
        weight, bias, gamma, beta = parameters[OF_STAGE * i : OF_STAGE * (i + 1)]
        out = F.linear(out.to(weight.dtype), weight)
        out = incidence.endpoints.row_sum(out) if lift and i == 0 else out
        out = out if bias is None else out + bias
        if step.eps >= 0:
            mean, var = running[2 * i : 2 * i + 2]
            out = weighted_batch_norm(
                out, mean, var, gamma, beta, step.by_batch, 0.0, step.eps, count=count
            )
        out = out.relu() if step.relu else out
    out = incidence.sum_opposite(out.float())
    inputs = (z, None, *parameters)
    wanted = [i for i, needed in enumerate(ctx.needs_input_grad) if needed]
    found = torch.autograd.grad(
        out, [inputs[i] for i in wanted], grad[:, : out.size(1)], create_graph=True
    )
    gradients: list[Tensor | None] = [None] * len(inputs)
    for i, gradient in zip(wanted, found, strict=True):
        gradients[i] = gradient
    return tuple(gradients)
