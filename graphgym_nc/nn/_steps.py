"""What paths with kernels of their own have in common: a network over the edges of
triangles is a chain of stages, and one function to autograd.

What such a function saves is, for every stage, what goes into the product, what comes
out, and how it is normalised; then the parameters of all stages; then the running
statistics that each normalises by.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.graph import increment_version
from typing_extensions import Self

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
from graphgym_nc.utils.autograd import apply, gradients

OF_STAGE = 4  # parameters: weight, bias, gamma, beta
KEPT = 3  # tensors of a stage

Gradients = tuple[Tensor | None, ...]


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

    def note_moves(self) -> None:
        """Tells torch that a kernel has moved the running statistics, if one has."""
        if self.by_batch:
            increment_version(t for t in self.running if t is not None and not t.is_inference())

    def backward(
        self, grad: Tensor, y: Tensor, norm: Tensor, lift: bool, incidence: Edges
    ) -> tuple[Tensor, Sequence[Tensor]]:
        """The gradient of the product :obj:`y`, and those of bias, gamma and beta, given that
        of all rows, which may be written to.
        """
        raise NotImplementedError

    def before_product(self, grad: Tensor, weight: Tensor, width: int) -> Tensor:
        """The gradient of what goes into a product, of a width, given that of the product,
        which may be written to.
        """
        return torch.mm(grad, weight)


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


def backward_by(find: Callable[[Any, Tensor], Gradients]) -> Any:
    """The backward pass of a function, given what finds its gradients if these will not
    themselves be differentiated.
    """

    def backward(ctx: Any, grad: Tensor) -> Gradients:
        with no_autocast(grad.device.type):  # which there was none of in the forward pass, either
            return (differentiable_gradients if torch.is_grad_enabled() else find)(ctx, grad)

    return staticmethod(backward)


def gradients_of_steps(ctx: Any, grad: Tensor) -> Gradients:
    """The gradients of rows and parameters, given that of the last rows."""
    incidence, lift, steps, _ = ctx.network
    saved = ctx.saved_tensors
    kept, parameters = saved[: KEPT * len(steps)], saved[KEPT * len(steps) :]
    of_z, _, *wanted = ctx.needs_input_grad
    found: list[Tensor | None] = []
    for i, step in reversed(list(enumerate(steps))):
        z, y, norm = kept[KEPT * i : KEPT * (i + 1)]
        weight, *vectors = parameters[OF_STAGE * i : OF_STAGE * (i + 1)]
        grad, of_vectors = step.backward(grad, y, norm, lift and i == 0, incidence)
        rows, columns = weight.shape  # without padding
        found = [
            torch.mm(grad.t(), z)[:rows, :columns] if wanted[OF_STAGE * i] else None,
            *(None if v is None else of_v for v, of_v in zip(vectors, of_vectors, strict=True)),
            *found,
        ]
        if i > 0 or of_z:
            grad = step.before_product(grad, weight, z.size(1))
    return grad if of_z else None, None, *found


def differentiable_gradients(ctx: Any, grad: Tensor) -> Gradients:
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
    return gradients(ctx, out, (z, None, *parameters), grad[:, : out.size(1)])


def pad(weight: Tensor, height: int, width: int) -> Tensor:
    """A weight with zeros behind its rows and columns."""
    if weight.shape == (height, width):
        return weight
    return F.pad(weight, (0, width - weight.size(1), 0, height - weight.size(0)))
