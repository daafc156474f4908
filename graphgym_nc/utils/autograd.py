"""Calls of functions that torch differentiates."""

from typing import Any

import torch
from torch.autograd import Function


def apply(function: type[Function], *args: Any) -> Any:
    """Does what :obj:`function.apply` does, for a function with a context of its own.

    torch itself looks at the function's signature in every such call, which takes as long as a
    sum over a small batch.
    """
    if torch.compiler.is_compiling() or torch._C._are_functorch_transforms_active():
        return function.apply(*args)
    return super(Function, function).apply(*args)  # type: ignore[misc]
