"""A network over the edges of triangles on a GPU, by kernels in Triton.

It is a chain of stages, as in :mod:`graphgym_nc.nn._fused`, and so one function to
autograd: a matrix product, torch's own, and kernels for the rest. What comes out of the
last stage is never stored. It is normalised and cut off anew for every message, where
messages are added up. Of the first stage, rows of nodes are kept, and the sum of two is
taken wherever that of an edge is needed. So a network of one stage keeps nothing for
edges, and one of two stages keeps two rows for each.

Rows are in float32 or bfloat16, and sums, statistics and their results in float32.
"""

from collections.abc import Sequence
from typing import Any, TypeGuard

import torch
from torch import Tensor

from graphgym_nc import kernels
from graphgym_nc.kernels.triton import DTYPES, gradients, rows
from graphgym_nc.kernels.triton.segments import sum_rows
from graphgym_nc.nn._stages import Stage, all_fit
from graphgym_nc.nn._steps import (
    OF_STAGE,
    Gradients,
    Network,
    Step,
    backward_by,
    communicate_by,
    gradients_of_steps,
)
from graphgym_nc.nn._weighted_batch_norm import no_autocast
from graphgym_nc.triangles.incidence import TriangleIncidence
from graphgym_nc.triangles.merged_edges import Edges


def stages_fit(stages: Sequence[Stage], x: Tensor) -> bool:
    """Whether kernels can run all stages, one after the other, as torch would."""
    weights = DTYPES if torch.is_autocast_enabled(x.device.type) else (x.dtype,)
    return _dtype(x) in DTYPES and all_fit(stages, x.size(1), weights, DTYPES, x.device)


def communicate_by_triton(
    stages: Sequence[Stage],
    x: Tensor,
    incidence: Edges,
    edge_attr: Tensor | None = None,
) -> Tensor:
    """See :meth:`graphgym_nc.nn._communicate.communicate`.

    Args:
        stages: The network.
        x: The node features.
        incidence: The triangles, at least one.
        edge_attr: Features of the edges.

    Returns:
        The sums, in float32.
    """
    dtype = _dtype(x)
    with no_autocast(x.device.type):
        typed = [_with_types(stage, dtype) for stage in stages]
        edge_attr = edge_attr if edge_attr is None else edge_attr.to(dtype)
        return communicate_by(_Communicate, _Step, typed, x.to(dtype), incidence, edge_attr)


def _dtype(x: Tensor) -> torch.dtype:
    """The type of rows; with autocast, that of its products."""
    device = x.device.type
    return torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else x.dtype


def _with_types(stage: Stage, dtype: torch.dtype) -> Stage:
    """A stage whose product is in a type, and whose vectors are in float32."""
    weight, *vectors = stage.parameters
    offset, gamma, beta = (v if v is None else v.float().contiguous() for v in vectors)
    return stage._replace(parameters=(weight.to(dtype), offset, gamma, beta))


class _Step(Step):
    """What a stage does, and how kernels go back."""

    def backward(
        self, grad: Tensor, y: Tensor, norm: Tensor, lift: bool, incidence: Edges
    ) -> tuple[Tensor, Sequence[Tensor]]:
        ends = incidence.endpoints
        of_vectors = gradients.backward(
            grad, y, ends.col if lift else None, incidence.weight, norm,
            self.relu, self.by_batch, incidence.num_messages,
        )  # fmt: skip
        return sum_rows(grad, ends.rowptr_t, ends.col_t) if lift else grad, of_vectors


def _gradients(ctx: Any, grad: Tensor) -> Gradients:
    incidence, dtype = ctx.network.incidence, ctx.saved_tensors[0].dtype
    return gradients_of_steps(ctx, _gather_opposite(incidence, grad.contiguous(), dtype))


class _Communicate(torch.autograd.Function):
    """The sum of a network over the edges opposite to every node."""

    @staticmethod
    def forward(ctx: Any, z: Tensor, network: Network, *parameters: Tensor | None) -> Tensor:
        incidence, lift, steps, recorded = network
        kept: list[Tensor] = []
        for i, step in enumerate(steps):
            weight, *vectors = parameters[OF_STAGE * i : OF_STAGE * (i + 1)]
            assert weight is not None
            ends = incidence.endpoints.col if lift and i == 0 else None
            y = torch.mm(z, weight.t())
            norm = _norm(step, y, ends, incidence, *vectors)
            kept += (z, y, norm) if recorded else ()
            if i < len(steps) - 1:
                z = rows.normalise(y, ends, norm, step.relu)
        ctx.network = network
        running = (tensor for step in steps for tensor in step.normalises_by)
        ctx.save_for_backward(*kept, *parameters, *running)
        return _sum_opposite(incidence, y, ends, norm, step.relu)

    backward = backward_by(_gradients)


def _norm(
    step: Step, y: Tensor, ends: Tensor | None, incidence: Edges, *vectors: Tensor | None
) -> Tensor:
    """How to normalise what comes out of a product; moves running statistics."""
    norm = rows.norm_of(
        y, ends, incidence.weight, vectors, step.running, step.by_batch, step.eps,
        incidence.num_messages, step.momentum,
    )  # fmt: skip
    step.note_moves()
    return norm


def _sum_opposite(
    incidence: Edges, y: Tensor, ends: Tensor | None, norm: Tensor, relu: bool
) -> Tensor:
    """The sum of normalised rows over the edges opposite to every node, in float32."""
    if _is_plain(incidence):
        matrix = incidence.opposite
        return sum_rows(y, matrix.rowptr, matrix.col, ends, norm, relu, torch.float32)
    with kernels.use('triton'):
        return incidence.sum_opposite(rows.normalise(y, ends, norm, relu).float())


def _gather_opposite(incidence: Edges, grad: Tensor, dtype: torch.dtype) -> Tensor:
    """The sum over the nodes opposite to every edge, in the type of its rows."""
    if _is_plain(incidence):
        matrix = incidence.opposite
        return sum_rows(grad, matrix.rowptr_t, matrix.col_t, dtype=dtype)
    with kernels.use('triton'):
        return incidence.gather_opposite(grad).to(dtype)


def _is_plain(incidence: Edges) -> TypeGuard[TriangleIncidence]:
    """Whether sums over opposite edges are those over the rows of one matrix."""
    return isinstance(incidence, TriangleIncidence) and incidence.twins is None
