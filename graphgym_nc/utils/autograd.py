"""How functions with a gradient of their own are called."""

from collections.abc import Iterable
from typing import Any

import torch
from torch.autograd import Function


def call(function: type[Function], *args: Any) -> Any:
    """Does what :meth:`torch.autograd.Function.apply` does, but for tensors that have
    outlived a transform of :obj:`torch.func`. That looks at the signature of a function
    with a :obj:`setup_context` at every call, for which small batches have no time.
    """
    if torch.compiler.is_compiling() or is_transformed():
        return function.apply(*args)
    return super(Function, function).apply(*args)  # type: ignore[misc]


def aliases(tensors: Iterable[Any]) -> list[Any]:
    """Views to differentiate by: of what a function has saved, one may depend on another
    or be the same, and each is to have only its own share of the gradient.
    """
    return [tensor if tensor is None else tensor.view_as(tensor) for tensor in tensors]


def is_transformed() -> bool:
    """Whether a transform of :obj:`torch.func` is at work."""
    return torch._C._are_functorch_transforms_active()
