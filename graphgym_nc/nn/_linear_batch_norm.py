r"""A Linear layer with BatchNorm over all messages behind it, and perhaps ReLU, by torch.

Both are one function to autograd, with a gradient in closed form. It launches little and
moves little, on any device. BatchNorm takes the mean away, so the bias has no say, and the
product is centred before it is written down: its mean is that of its input, times the weight.
Then the mean square is the variance.

Rows of the product that are sums over the two ends of an edge are centred at the nodes, as
:math:`\mathbf{z} = \mathbf{E} \mathbf{a}`. The variance
:math:`\sum_e s_e \mathbf{z}_e^2` is :math:`\sum_v \mathbf{a}_v \cdot (\mathbf{E}^\top
\mathrm{diag}(\mathbf{s}) \, \mathbf{E} \mathbf{a})_v`, and the gradient needs no row per edge
either. What cancels out in that sum is bounded: an edge has as much of a share as it lies on
triangles, and of the three corners of a triangle, :math:`a_u^2 + a_v^2 + a_w^2 \le
(a_u + a_v)^2 + (a_u + a_w)^2 + (a_v + a_w)^2`.
"""

from collections.abc import Sequence
from functools import reduce
from typing import Any, NamedTuple, cast

import torch
import torch.nn.functional as F
from torch import Tensor

from graphgym_nc.nn._stages import is_plain, is_plain_linear
from graphgym_nc.nn._weighted_batch_norm import (
    aliases,
    is_autocast,
    next_momentum,
    normalised,
    parts,
    running_statistics,
    track,
)
from graphgym_nc.triangles.csr import CSR
from graphgym_nc.triangles.merged_edges import Edges
from graphgym_nc.triangles.shares import Shares
from graphgym_nc.utils.autograd import gradients

Gradients = tuple[Tensor | None, ...]


class LinearBatchNorm(NamedTuple):
    """A Linear layer, BatchNorm by the statistics of its rows, and perhaps ReLU.

    Attributes:
        linear: The Linear layer.
        norm: The BatchNorm.
        relu: Whether a ReLU follows.
    """

    linear: torch.nn.Module
    norm: torch.nn.BatchNorm1d
    relu: bool

    @staticmethod
    def of(layers: Sequence[torch.nn.Module], x: Tensor) -> 'LinearBatchNorm | None':
        """What layers begin with, if it is that, all of it of the type of some rows."""
        if len(layers) < 2 or not is_plain_linear(layers[0]):
            return None
        linear, norm = layers[:2]
        if type(norm) is not torch.nn.BatchNorm1d or not is_plain(norm):
            return None
        relu = len(layers) > 2 and type(layers[2]) is torch.nn.ReLU and is_plain(layers[2])
        block = LinearBatchNorm(linear, norm, relu)
        by_batch = norm.training or norm.running_mean is None
        return block if by_batch and block._fits(x) else None

    @property
    def length(self) -> int:
        """The number of layers."""
        return 3 if self.relu else 2

    def over_nodes(self, x: Tensor, edges: Edges, again: bool) -> Tensor:
        """Rows of edges: sums over their two ends of the product, and so on.

        Args:
            x: The rows of nodes, of shape :obj:`[num_nodes, channels]`.
            edges: The edges.
            again: Whether nobody else will keep the result: the backward pass then
                computes it again.
        """
        ends, shares = edges.endpoints, Shares.of(edges, x.dtype)
        out, mean, var, *_ = _OverNodes.apply(
            x, *self._parameters, self.norm.eps, self.relu, again,
            ends.rowptr, ends.col, ends.rowptr_t, ends.col_t, *shares,
        )  # fmt: skip
        self._track(mean, var, edges.num_messages)
        return out

    def over_edges(self, x: Tensor, edges: Edges) -> Tensor:
        """The same of rows that edges have already."""
        share = Shares.of(edges, x.dtype).of_edge
        out, mean, var, *_ = _OverRows.apply(x, *self._parameters, self.norm.eps, self.relu, share)
        self._track(mean, var, edges.num_messages)
        return out

    @property
    def _parameters(self) -> tuple[Tensor | None, ...]:
        linear, norm = self.linear, self.norm
        return cast(Tensor, linear.weight), cast(Any, linear.bias), norm.weight, norm.bias

    def _fits(self, x: Tensor) -> bool:
        return (
            x.dtype in (torch.float32, torch.float64)
            and not is_autocast(x.device.type)
            and all(p is None or p.dtype == x.dtype for p in self._parameters)
        )

    def _track(self, mean: Tensor, var: Tensor, total: int) -> None:
        norm = self.norm
        momentum = next_momentum(norm, total)
        track(*running_statistics(norm), mean, var, total, momentum)


class _OverNodes(torch.autograd.Function):
    @staticmethod
    def forward(
        x: Tensor, weight: Tensor, bias: Tensor | None, gamma: Tensor | None,
        beta: Tensor | None, eps: float, relu: bool, again: bool, *tensors: Tensor,
    ) -> tuple[Tensor, ...]:  # fmt: skip
        endpoints, shares = CSR(*tensors[:4]), Shares(*tensors[4:])
        shift = weight.mv(x.t().mv(shares.of_node))  # `mv`, unlike `@`, is never rounded to TF32
        half = torch.addmm(shift, x, weight.t())
        ends = shares.row_sum(half)
        var = (half * ends).sum(0)
        inv_std = (var + eps).rsqrt_()
        scale = inv_std.clone() if gamma is None else gamma * inv_std
        normal = half * scale if beta is None else torch.addcmul(beta * 0.5, half, scale)
        out = endpoints.row_sum(normal)
        out = out.relu_() if relu else out
        mean = shift * -2 if bias is None else torch.add(bias, shift, alpha=-2)
        return out, mean, var, half, ends, inv_std, scale, normal

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        x, weight, bias, gamma, beta, ctx.eps, ctx.relu, ctx.again, *tensors = inputs
        out, *rest = output
        ctx.mark_non_differentiable(*rest)
        ctx.set_materialize_grads(False)  # which would be zeros as large as these
        _, var, half, ends, inv_std, scale, normal = rest
        kept = None if not ctx.relu else normal if ctx.again else out
        ctx.save_for_backward(
            x, weight, bias, gamma, beta, var, half, ends, inv_std, scale, kept, *tensors
        )

    @staticmethod
    def backward(ctx: Any, grad: Tensor | None, *_: None) -> Gradients:
        x, weight, bias, gamma, beta, var, half, ends, inv_std, scale, kept, *tensors = (
            ctx.saved_tensors
        )
        endpoints, shares = CSR(*tensors[:4]), Shares(*tensors[4:])
        nothing = (None,) * (3 + len(tensors))
        if grad is None:
            return None, None, None, None, None, *nothing
        if _is_differentiated():
            x, weight, bias, gamma, beta = inputs = aliases((x, weight, bias, gamma, beta))
            rows = endpoints.row_sum(F.linear(x, weight))
            out = _with_gradients(rows, bias, gamma, beta, shares.of_edge, ctx.eps, ctx.relu)
            return *gradients(ctx, out, inputs, grad), *nothing
        if ctx.relu:
            out = endpoints.row_sum(kept) if ctx.again else kept
            grad = torch.ops.aten.threshold_backward(grad, out, 0)
        grad = endpoints.transposed.row_sum(grad.contiguous())
        zeros = torch.zeros_like(var)
        of_gamma, twice = _sums(grad, half, zeros, var, ctx.eps)
        grad = torch.addcmul(grad, ends, of_gamma * inv_std, value=-1)
        grad = grad.addcmul_(shares.of_node[:, None], twice).mul_(scale)
        return (
            grad.mm(weight) if ctx.needs_input_grad[0] else None,
            grad.t().mm(x) if ctx.needs_input_grad[1] else None,
            None if bias is None else zeros,
            None if gamma is None else of_gamma,
            None if beta is None else twice * 0.5,
            *nothing,
        )


class _OverRows(torch.autograd.Function):
    @staticmethod
    def forward(
        x: Tensor, weight: Tensor, bias: Tensor | None, gamma: Tensor | None,
        beta: Tensor | None, eps: float, relu: bool, share: Tensor,
    ) -> tuple[Tensor, ...]:  # fmt: skip
        shift = weight.mv(x.t().mv(share)).neg_()
        rows = torch.addmm(shift, x, weight.t())
        var = reduce(torch.add, (part.square().t().mv(of) for part, of in parts(rows, share)))
        inv_std = (var + eps).rsqrt_()
        scale = inv_std.clone() if gamma is None else gamma * inv_std
        out = rows * scale if beta is None else torch.addcmul(beta, rows, scale)
        out = out.relu_() if relu else out
        mean = -shift if bias is None else bias - shift
        return out, mean, var, rows, inv_std, scale

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        x, weight, bias, gamma, beta, ctx.eps, ctx.relu, share = inputs
        out, *rest = output
        ctx.mark_non_differentiable(*rest)
        ctx.set_materialize_grads(False)  # which would be zeros as large as these
        kept = out if ctx.relu else None
        ctx.save_for_backward(x, weight, bias, gamma, beta, share, kept, *rest[1:])

    @staticmethod
    def backward(ctx: Any, grad: Tensor | None, *_: None) -> Gradients:
        x, weight, bias, gamma, beta, share, out, var, rows, inv_std, scale = ctx.saved_tensors
        if grad is None:
            return (None,) * 8
        if _is_differentiated():
            x, weight, bias, gamma, beta = inputs = aliases((x, weight, bias, gamma, beta))
            out = _with_gradients(F.linear(x, weight), bias, gamma, beta, share, ctx.eps, ctx.relu)
            return *gradients(ctx, out, inputs, grad), None, None, None
        if ctx.relu:
            grad = torch.ops.aten.threshold_backward(grad, out, 0)
        zeros = torch.zeros_like(var)
        of_gamma, of_beta = _sums(grad, rows, zeros, var, ctx.eps)
        grad, slope = grad if ctx.relu else grad.clone(), of_gamma * inv_std
        for of_part, part, of in parts(grad, rows, share):
            of_part.addcmul_(torch.addcmul(of_beta, part, slope), of[:, None], value=-1)
        scale = scale[:, None]
        return (
            grad.mm(weight * scale) if ctx.needs_input_grad[0] else None,
            grad.t().mm(x) * scale if ctx.needs_input_grad[1] else None,
            None if bias is None else zeros,
            None if gamma is None else of_gamma,
            None if beta is None else of_beta,
            None, None, None,
        )  # fmt: skip


def _sums(
    grad: Tensor, rows: Tensor, mean: Tensor, var: Tensor, eps: float
) -> tuple[Tensor, Tensor]:
    """The sums of a gradient times normalised rows, and of the gradient, in one go over both."""
    _, of_gamma, of_beta = torch.ops.aten.native_batch_norm_backward(
        grad, rows, None, mean, var, None, None, False, eps, [False, True, True]
    )
    return of_gamma, of_beta


def _is_differentiated() -> bool:
    """Whether a gradient will itself be differentiated."""
    return torch.is_grad_enabled() and not torch.compiler.is_compiling()


def _with_gradients(
    rows: Tensor, bias: Tensor | None, gamma: Tensor | None, beta: Tensor | None,
    share: Tensor, eps: float, relu: bool,
) -> Tensor:  # fmt: skip
    """A bias, BatchNorm and ReLU, as operations that have gradients of their own."""
    out = normalised(rows if bias is None else rows + bias, gamma, beta, share, eps)
    return out.relu() if relu else out
