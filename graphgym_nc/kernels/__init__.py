"""Compiled kernels for the CPU and the GPU, and the choice whether to use them.

Those for the CPU need numba and those for the GPU need triton, which are imported when a
kernel is first asked for. Whatever they compute, torch computes as well, on any device
and in any dtype: kernels differ by no more than rounding.
"""

import importlib
import logging
import threading
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache

import torch

#: What :meth:`use` can be given.
CHOICES = ('auto', 'numba', 'torch', 'triton')

_WITH_DATA = (torch.Tensor, torch.nn.Parameter)


class _Choice(threading.local):
    name = 'auto'


_choice = _Choice()


def use(choice: str) -> AbstractContextManager[None]:
    """Within this context, and in this thread, chooses what computes.

    Args:
        choice: :obj:`"torch"` for torch alone; :obj:`"numba"` for kernels
            wherever there is one for the CPU; :obj:`"auto"` for the same, if numba can be
            used; :obj:`"triton"` for kernels on the GPU, and :obj:`"auto"` for triangles
            that are found on the CPU.

    Raises:
        ValueError: If there is no such choice.
        ImportError: If numba or triton is asked for, and cannot be used.
    """
    if choice not in CHOICES:
        raise ValueError(f"'kernel' is {choice!r}, but must be one of {', '.join(CHOICES)}")
    if choice == 'numba' and (problem := _problem()) is not None:
        raise ImportError(f"'kernel' is 'numba', but numba cannot be used: {problem}")
    if choice == 'triton' and (problem := _triton_problem()) is not None:
        raise ImportError(
            f"'kernel' is 'triton', but triton cannot be used: {problem} (to install it: "
            f"pip install 'graphgym-nc[triton]'; to do without it: 'kernel: auto')"
        )
    return _chosen(choice)


@contextmanager
def _chosen(choice: str) -> Iterator[None]:
    before, _choice.name = _choice.name, choice
    try:
        yield
    finally:
        _choice.name = before


def enabled(*tensors: torch.Tensor) -> bool:
    """Whether kernels are to be used, and can read some tensors. If all operations are being
    looked at or replaced, by a compiler, a transform of :obj:`torch.func` or a mode such as
    FakeTensorMode, they are torch's.
    """
    if torch.compiler.is_compiling() or torch._C._are_functorch_transforms_active():
        return False
    if _choice.name == 'torch' or torch._C._len_torch_dispatch_stack() > 0:
        return False
    return all(map(can_read, tensors)) and _available()


def by_triton(*tensors: torch.Tensor) -> bool:
    """Whether kernels in Triton are asked for, and can read some tensors.

    Raises:
        RuntimeError: If they are asked for, but tensors are on the CPU.
    """
    if torch.compiler.is_compiling() or _choice.name != 'triton':
        return False
    if torch._C._are_functorch_transforms_active() or torch._C._len_torch_dispatch_stack() > 0:
        return False
    from graphgym_nc.kernels.triton import DTYPES, INTERPRETED

    if any(tensor.is_cpu for tensor in tensors) and not INTERPRETED:
        raise RuntimeError(
            "'nc.kernel' is 'triton', which computes on a GPU, but the data are on the CPU: move "
            "model and data to a GPU ('accelerator: cuda'), or choose 'nc.kernel: auto' (kernels "
            'are interpreted on the CPU, slowly, if TRITON_INTERPRET=1 is set from the start)'
        )
    return all(
        (tensor.is_cuda or tensor.is_cpu) and type(tensor) in _WITH_DATA and tensor.dtype in DTYPES
        for tensor in tensors
    )


def again(triton: bool) -> AbstractContextManager[None]:
    """A context for a backward pass, which knows no choice: that of the forward pass, if it
    was :meth:`by_triton`.
    """
    return use('triton') if triton else nullcontext()


def on_all_threads() -> bool:
    """Whether kernels over rows are to be used: they run on as many threads as torch does,
    or have been asked for.
    """
    from graphgym_nc.kernels import openmp

    if openmp.shares_threads() or torch.get_num_threads() == 1 or _choice.name == 'numba':
        return True
    _say_that_torch_computes()
    return False


@cache
def _say_that_torch_computes() -> None:
    warnings.warn(
        "torch's OpenMP runtime is no libgomp that kernels could run on: they would have one "
        "thread, so torch computes the layers on all of its own; 'nc.kernel: numba' has kernels "
        "compute them nevertheless, and with 'nc.kernel: torch', this is not said",
        stacklevel=2,
    )


def can_read(tensor: torch.Tensor, device: torch.device | None = None) -> bool:
    """Whether a tensor has data on a device, or on the CPU. A subclass, such as a FakeTensor,
    may have none.
    """
    there = tensor.is_cpu if device is None else tensor.device == device
    return there and type(tensor) in _WITH_DATA


@cache
def _available() -> bool:
    problem = _problem()
    if problem is not None:
        warnings.warn(
            f'numba cannot be used ({problem}): NC-GNN runs on torch alone, which is slower on '
            f"the CPU; with 'kernel: torch', this is not said",
            stacklevel=2,
        )
    return problem is None


@cache
def _problem() -> str | None:
    """Why kernels cannot be used, if so."""
    try:
        openmp = importlib.import_module(f'{__name__}.openmp')
        if not openmp.is_compiled():
            logging.getLogger(__name__).warning('Compiling kernels, for about half a minute ...')
        for module in ('rows', 'lean', 'triangles', 'opposite'):
            importlib.import_module(f'{__name__}.{module}')
    except Exception as error:  # numba does not import, or does not compile
        return f'{type(error).__name__}: {error}'
    return None


@cache
def _triton_problem() -> str | None:
    """Why kernels in Triton cannot be used, if so."""
    try:
        importlib.import_module(f'{__name__}.triton')
    except Exception as error:
        return f'{type(error).__name__}: {error}'
    return None
