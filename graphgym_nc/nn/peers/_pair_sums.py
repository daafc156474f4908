"""Sums over pairs of rows, none of which is kept."""

from collections.abc import Callable
from typing import Any, cast

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch_geometric.utils import scatter

from graphgym_nc.nn._weighted_batch_norm import no_autocast

_AT_ONCE = 1 << 14


def pair_sums(
    first: Tensor, second: Tensor, pairs: Tensor, norm: torch.nn.Module, act: Callable[..., Tensor]
) -> Tensor:
    r"""Computes

    .. math::
        \mathbf{y}_k = \sum_{(i, j, k)} \mathrm{act} \left( \mathrm{norm}
        \left( \mathbf{a}_i + \mathbf{b}_j \right) \right)

    in :math:`\mathcal{O}(n d)` memory, for :math:`n` rows of :math:`d` channels: pairs are gone
    through, some at a time, in the forward pass and again in the backward pass.

    Args:
        first: The rows :math:`\mathbf{a}`.
        second: The rows :math:`\mathbf{b}`, as many.
        pairs: All :math:`(i, j, k)`, of shape :obj:`[3, P]`.
        norm: BatchNorm over all pairs, or :class:`~torch.nn.Identity`. For any other, rows of all
            pairs are kept.
        act: The activation, which must not draw anything at random.
    """
    if type(norm) not in (torch.nn.BatchNorm1d, torch.nn.Identity):
        # That of several processes needs all of them, even one without pairs.
        rows = act(norm(first[pairs[0]] + second[pairs[1]]))
        return scatter(rows, pairs[2], dim_size=first.size(0))
    weights = [*act.parameters()] if isinstance(act, torch.nn.Module) else []
    with no_autocast(first.device.type):  # the backward pass would know nothing of it
        for weight in weights:
            dtype = torch.promote_types(first.dtype, weight.dtype)
            first, second = first.to(dtype), second.to(dtype)
        if isinstance(norm, torch.nn.BatchNorm1d):
            scale, shift = _normalisation(norm, first, second, pairs)
            first, second = first * scale, torch.addcmul(shift, second, scale)
        return cast(Tensor, _PairSums.apply(act, pairs, first, second, *weights))


def _normalisation(
    norm: torch.nn.BatchNorm1d, first: Tensor, second: Tensor, pairs: Tensor
) -> tuple[Tensor, Tensor]:
    """What BatchNorm multiplies the sum of a pair of rows by, and then adds."""
    noted, number = (norm.running_mean, norm.running_var), pairs.size(1)
    mean, var = (cast(Tensor, tensor) for tensor in noted)
    dtype = first.dtype
    if norm.training and number > 0:
        wide = torch.promote_types(dtype, torch.float)
        first, second = first.to(wide), second.to(wide)
        share = first.new_full((number,), 1 / number)
        means = [
            scatter(share, index, dim_size=rows.size(0)) @ rows
            for rows, index in zip((first, second), pairs, strict=False)
        ]
        squares = _PairSums.apply(torch.square, pairs, first - means[0], second - means[1])
        mean, var = means[0] + means[1], cast(Tensor, squares).sum(dim=0) / number
        with torch.no_grad():
            cast(Tensor, norm.num_batches_tracked).add_(1)
            for tensor, new in zip(noted, (mean, var * (number / (number - 1))), strict=True):
                assert tensor is not None
                tensor.lerp_(new.to(tensor.dtype), cast(float, norm.momentum))
    scale = norm.weight * (var + norm.eps).rsqrt()
    return scale.to(dtype), (norm.bias - mean * scale).to(dtype)


class _PairSums(torch.autograd.Function):
    """The sums without normalisation."""

    @staticmethod
    def forward(
        ctx: Any, act: Callable[..., Tensor], pairs: Tensor, first: Tensor, second: Tensor,
        *weights: Tensor,
    ) -> Tensor:  # fmt: skip
        ctx.act = act
        ctx.save_for_backward(pairs, first, second, *weights)
        out = torch.zeros_like(first)
        for i, j, k in pairs.split(_AT_ONCE, dim=1):
            out.index_add_(0, k, act(first[i].add_(second[j])))
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        pairs, *inputs = ctx.saved_tensors
        first, second, *weights = inputs
        grads = [torch.zeros_like(tensor) for tensor in inputs]
        for i, j, k in pairs.split(_AT_ONCE, dim=1):
            with torch.enable_grad():
                z = first.detach()[i].add_(second.detach()[j]).requires_grad_()
                of_z, *more = torch.autograd.grad(ctx.act(z), [z, *weights], grad[k])
            grads[0].index_add_(0, i, of_z)
            grads[1].index_add_(0, j, of_z)
            for total, of_some in zip(grads[2:], more, strict=True):
                total.add_(of_some)
        return None, None, *grads
