"""Compiled kernels for the CPU, and the choice whether to use them.

They need numba, which is imported when a kernel is first asked for. Whatever
they compute, torch computes as well, on any device and in any dtype: kernels are
faster, and differ by no more than rounding.
"""

import importlib
import logging
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import torch

#: What :meth:`use` can be given.
CHOICES = ('auto', 'numba', 'torch')

_WITH_DATA = (torch.Tensor, torch.nn.Parameter)


class _Choice(threading.local):
    name = 'auto'


_choice = _Choice()


@contextmanager
def use(choice: str) -> Iterator[None]:
    """Within this context, and in this thread, chooses what computes on the CPU.

    Args:
        choice: :obj:`"torch"` for torch alone; :obj:`"numba"` for kernels
            wherever there is one; :obj:`"auto"` for the same, if numba can be
            used.

    Raises:
        ValueError: If there is no such choice.
        ImportError: If numba is asked for, and cannot be used.
    """
    if choice not in CHOICES:
        raise ValueError(f"'kernel' is {choice!r}, but must be one of {', '.join(CHOICES)}")
    if choice == 'numba' and (problem := _problem()) is not None:
        raise ImportError(f"'kernel' is 'numba', but numba cannot be used: {problem}")
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


def can_read(tensor: torch.Tensor) -> bool:
    """Whether a tensor has data on the CPU. A subclass, such as a FakeTensor, may have none."""
    return tensor.is_cpu and type(tensor) in _WITH_DATA


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
