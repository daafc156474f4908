"""Calls of functions that torch differentiates."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function


def apply(function: type[Function], *args: Any) -> Any:
    """Does what :obj:`function.apply` does, for a function with a context of its own.

    torch itself looks at the function's signature in every such call, which takes as long as a
    sum over a small batch.
    """
    if torch.compiler.is_compiling() or torch._C._are_functorch_transforms_active():
        return function.apply(*args)
    return super(Function, function).apply(*args)  # type: ignore[misc]


def gradients(
    ctx: Any, out: Tensor, inputs: Sequence[Tensor | None], grad: Tensor
) -> tuple[Tensor | None, ...]:
    """The gradients of what a function was given first, as functions of it.

    Args:
        ctx: The function's context.
        out: What it has computed, now of operations that have gradients of their own.
        inputs: What it was given.
        grad: The gradient of :obj:`out`.
    """
    needed = list(zip(inputs, ctx.needs_input_grad, strict=False))
    wanted = [tensor for tensor, wanted in needed if tensor is not None and wanted]
    found = iter(torch.autograd.grad(out, wanted, grad, create_graph=True))
    return tuple(
        next(found) if tensor is not None and wanted else None for tensor, wanted in needed
    )
