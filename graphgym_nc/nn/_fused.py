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
from typing import Any

import torch
from torch import Tensor

from graphgym_nc.kernels import row_loops, rows
from graphgym_nc.kernels.openmp import launch, threads_for
from graphgym_nc.nn._stages import Stage
from graphgym_nc.nn._steps import (
    OF_STAGE,
    Gradients,
    Network,
    Step,
    backward_by,
    communicate_by,
    gradients_of_steps,
    pad,
)
from graphgym_nc.triangles.merged_edges import Edges

_PADDED_TO = 8
_ROWS_AT_ONCE = 1 << 12  # whose product stays in the cache


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
    return communicate_by(_Communicate, _Step, stages, x, incidence, edge_attr)


class _Step(Step):
    """What a stage does, and how kernels do it."""

    @property
    def padded(self) -> int:
        return -(-self.width // _PADDED_TO) * _PADDED_TO

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
            float(incidence.num_messages), float(self.momentum), y, out, _sums(y, threads), norm,
            incidence.weight, *(v if v is None else v.contiguous() for v in vectors),
            *self.running, y.size(0), incidence.endpoints.col,
            threads=threads,
        )  # fmt: skip
        self.note_moves()
        return out, norm

    def backward(
        self, grad: Tensor, y: Tensor, norm: Tensor, lift: bool, incidence: Edges
    ) -> tuple[Tensor, Sequence[Tensor]]:
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
        return out, of_vectors[:, : self.width].unbind()

    def before_product(self, grad: Tensor, weight: Tensor, width: int) -> Tensor:
        return _product(grad, pad(weight, self.padded, width))


def _gradients(ctx: Any, grad: Tensor) -> Gradients:
    return gradients_of_steps(ctx, ctx.network.incidence.gather_opposite(grad.contiguous()))


class _Communicate(torch.autograd.Function):
    """The sum of a network over the edges opposite to every node."""

    @staticmethod
    def forward(ctx: Any, z: Tensor, network: Network, *parameters: Tensor | None) -> Tensor:
        incidence, lift, steps, recorded = network
        kept: list[Tensor] = []
        for i, step in enumerate(steps):
            weight, *vectors = parameters[OF_STAGE * i : OF_STAGE * (i + 1)]
            assert weight is not None
            y = torch.mm(z, pad(weight, step.padded, z.size(1)).t())
            out, norm = step.after_product(y, lift and i == 0, incidence, *vectors)
            kept += (z, y, norm) if recorded else ()
            z = out
        ctx.network = network
        running = (tensor for step in steps for tensor in step.normalises_by)
        ctx.save_for_backward(*kept, *parameters, *running)
        return incidence.sum_opposite(z)

    backward = backward_by(_gradients)


def _product(grad: Tensor, weight: Tensor) -> Tensor:
    """The product of both, which takes the place of the first if that is large."""
    if grad.size(0) <= _ROWS_AT_ONCE or weight.size(0) != weight.size(1):
        return torch.mm(grad, weight)
    for part in grad.split(_ROWS_AT_ONCE):
        part.copy_(torch.mm(part, weight))
    return grad


def _sums(y: Tensor, threads: int) -> Tensor:
    return y.new_empty(threads, 2 * y.size(1), dtype=torch.double)
