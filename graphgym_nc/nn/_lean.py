"""MLP2 of one Linear layer, perhaps BatchNorm, and ReLU, on the CPU: without a row for any edge.

All before the ReLU is linear, so that rows of nodes say everything:
:mod:`graphgym_nc.kernels.lean` has the mathematics. Of nodes, a few rows are kept for the
backward pass.
"""

from collections.abc import Sequence
from typing import Any, cast

import torch
from torch import Tensor

from graphgym_nc.kernels import lanes, lean, row_loops
from graphgym_nc.kernels.openmp import launch, threads_for
from graphgym_nc.nn._stages import Stage
from graphgym_nc.nn._steps import Gradients, Network, Step, backward_by, communicate_by, pad
from graphgym_nc.triangles.incidence import TriangleIncidence
from graphgym_nc.triangles.merged_edges import Edges


def is_lean(stages: Sequence[Stage], incidence: Edges) -> bool:
    """Whether a network is one that this module is for, and nodes are fewer than edges."""
    return (
        len(stages) == 1
        and stages[0].relu
        and isinstance(incidence, TriangleIncidence)
        and incidence.num_nodes < incidence.num_edges
    )


def communicate_lean(stages: Sequence[Stage], x: Tensor, incidence: Edges) -> Tensor:
    """See :meth:`graphgym_nc.nn._communicate.communicate`.

    Args:
        stages: The network: one stage, which ends with a ReLU.
        x: The node features.
        incidence: The triangles, at least one.
    """
    return communicate_by(_Communicate, Step, stages, x, incidence)


def _gradients(ctx: Any, grad: Tensor) -> Gradients:
    incidence, _, (step,), _ = ctx.network
    x, a, norm, weight, bias, gamma, beta, *_, t = ctx.saved_tensors
    padded, width = a.size(1), step.width
    ends, sums = incidence.endpoints, incidence.sums
    of_sums = incidence.to_sums(grad.contiguous())
    out, of_vectors = torch.empty_like(a), a.new_empty(3, padded)
    threads = threads_for(sums.col.numel() * padded)
    launch(
        lean.lean_backward,
        incidence.num_edges, padded, width, True, step.by_batch, float(incidence.num_messages),
        of_sums, a, a.new_empty(threads, 2 * padded, dtype=torch.double), norm, of_vectors,
        torch.empty_like(a), incidence.num_nodes, ends.col, ends.rowptr_t, ends.col_t,
        beta if beta is None else beta.contiguous(), incidence.messages,
        t, sums.num_rows, sums.rowptr_t, sums.col_t,
        ends.rowptr_t if incidence.twins is not None else sums.rowptr, out,
        threads=threads,
    )  # fmt: skip
    return (
        torch.mm(out, pad(weight, padded, x.size(1))) if ctx.needs_input_grad[0] else None,
        None,
        torch.mm(out.t(), x)[:width] if ctx.needs_input_grad[2] else None,
        *(
            None if vector is None else of_vector[:width]
            for vector, of_vector in zip((bias, gamma, beta), of_vectors.unbind(), strict=True)
        ),
    )


class _Communicate(torch.autograd.Function):
    """The sum of a network over the edges opposite to every node."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, network: Network, *parameters: Tensor | None) -> Tensor:
        incidence, (step,) = cast(TriangleIncidence, network.incidence), network.steps
        weight, *vectors = parameters
        assert weight is not None
        padded = -(-step.width // lanes.LANES) * lanes.LANES
        a = torch.mm(x, pad(weight, padded, x.size(1)).t())
        ends, sums = incidence.endpoints, incidence.sums
        threads = threads_for(sums.col.numel() * padded)
        t = torch.empty_like(a) if step.by_batch else None
        norm = a.new_empty(row_loops.OF_NORM, padded)
        out = a.new_empty(sums.num_rows, padded)
        launch(
            lean.lean,
            incidence.num_edges, padded, step.width, True, step.by_batch, step.eps,
            float(incidence.num_messages), float(step.momentum), a, torch.empty_like(a),
            a.new_empty(threads, 2 * padded, dtype=torch.double), norm, incidence.weight,
            *(v if v is None else v.contiguous() for v in vectors), *step.running,
            incidence.num_nodes, ends.col, ends.rowptr_t, ends.col_t, incidence.messages,
            a.new_empty(threads, padded, dtype=torch.double), t,
            sums.num_rows, sums.rowptr, sums.col, out,
            threads=threads,
        )  # fmt: skip
        step.note_moves()
        ctx.network = network
        ctx.save_for_backward(x, a, norm, *parameters, *step.normalises_by, t)
        return incidence.from_sums(out)

    backward = backward_by(_gradients)
