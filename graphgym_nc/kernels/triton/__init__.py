"""Kernels in Triton, for a GPU: what :mod:`graphgym_nc.nn._triton` does with a row for every
edge, and sums over rows.

No kernel adds atomically: each sum has one order, so results are the same every time. All
sums are taken in float32, whatever the type of the rows.

With :obj:`TRITON_INTERPRET=1` in the environment before this is imported, Triton
interprets the kernels on the CPU, slowly: so tests find out what they compute.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
import triton
from triton.runtime.interpreter import InterpretedFunction


@triton.jit
def _nothing() -> None:
    pass


#: Whether kernels are interpreted, on the CPU.
INTERPRETED = isinstance(_nothing, InterpretedFunction)

#: Types of rows that kernels read and write.
DTYPES = (torch.float32, torch.bfloat16)


class Launch(NamedTuple):
    """A call of a kernel.

    Attributes:
        kernel: The kernel.
        args: What it is given, in order.
        options: Constants of its code, and how many threads run it.
    """

    kernel: Any
    args: tuple[Any, ...]
    options: dict[str, Any]


_launches: list[Launch] | None = None


def launch(kernel: Any, grid: tuple[int, ...], *args: Any, **options: Any) -> None:
    """Runs a kernel on the device of its first argument."""
    options['enable_fp_fusion'] = True  # versions of Triton have different defaults
    if _launches is not None:
        _launches.append(Launch(kernel, args, options))
        return
    with torch.cuda.device_of(args[0]):
        kernel[grid](*args, **options)


@contextmanager
def noting_launches() -> Iterator[list[Launch]]:
    """Within this context, no kernel runs: its launch is noted down, for whoever wants to
    compile it for a device that is not here.
    """
    global _launches  # noqa: PLW0603
    _launches = []
    try:
        yield _launches
    finally:
        _launches = None


def column_block(width: int, most: int = 128) -> int:
    """How many columns a program takes: a power of two, as Triton wants."""
    return min(1 << (width - 1).bit_length(), most)
