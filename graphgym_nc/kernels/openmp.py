"""Runs compiled kernels on the threads of torch's own OpenMP pool.

Every runtime of its own would bring a pool of threads whose idle members spin
on the cores that torch's need. So kernels here are plain compiled functions of
one thread's share, and torch's OpenMP runtime (libgomp) calls them on all of
its threads, as it calls torch's own: as many as :meth:`torch.set_num_threads`
says. libgomp does not survive a fork, so a forked process does with one thread.
"""

import ctypes
import hashlib
import os
import struct
from array import array
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import llvmlite.binding
import numba
import numpy as np
import torch
from numba import carray, cfunc, njit, types
from numba.extending import intrinsic
from torch import Tensor

# What a kernel gets: a word for each argument.
_SIGNATURE = types.void(types.CPointer(types.int64))
_BODY = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_AS_FLOAT, _AS_INTEGER = struct.Struct('d'), struct.Struct('q')


def _load_runtime() -> Any:
    """Torch's OpenMP runtime, if it is one that can be called from here."""
    try:
        library = ctypes.CDLL('libgomp.so.1', mode=os.RTLD_NOW | os.RTLD_NOLOAD)
        library.GOMP_parallel.argtypes = [ctypes.c_void_p] * 2 + [ctypes.c_uint] * 2
        library.GOMP_parallel.restype = None
    except (OSError, AttributeError):  # macOS, Windows, torch without OpenMP
        return None
    return library


_runtime = _load_runtime()
_forked = False


def _do_without_runtime() -> None:
    global _runtime, _forked
    _runtime, _forked = None, True


if hasattr(os, 'register_at_fork'):
    os.register_at_fork(after_in_child=_do_without_runtime)


@ctypes.CFUNCTYPE(ctypes.c_int)
def _zero() -> int:
    return 0


@ctypes.CFUNCTYPE(ctypes.c_int)
def _one() -> int:
    return 1


@ctypes.CFUNCTYPE(None)
def _nothing() -> None:
    pass


def _external(name: str, alone: Any, result: Any) -> Any:
    """A function of the runtime, or what stands in for it where one thread does all, as
    kernels can call it: by a name of ours, since names hold for all of numba's code.
    """
    function = alone if _runtime is None else getattr(_runtime, name)
    symbol = f'graphgym_nc_{name}'
    llvmlite.binding.add_symbol(symbol, ctypes.cast(function, ctypes.c_void_p).value)
    return types.ExternalFunction(symbol, result())


thread_number = _external('omp_get_thread_num', _zero, types.int32)
thread_count = _external('omp_get_num_threads', _one, types.int32)
#: Waits until all threads of a kernel are here.
barrier = _external('GOMP_barrier', _nothing, types.void)


def fingerprint(sources: Iterable[Path]) -> str:
    """A name for the contents of some files."""
    contents = b''.join(path.read_bytes() for path in sorted(sources))
    return hashlib.sha256(contents).hexdigest()[:16]


@cache
def _cache_folder() -> Path | None:
    """Where to keep what is compiled from the sources of all kernels, as they are now.
    numba would notice a change of the file that a kernel is in, but not of those
    whose functions it calls.
    """
    package, home = Path(__file__).parent, os.environ.get('XDG_CACHE_HOME') or '~/.cache'
    parents = [package / '__pycache__', Path(home).expanduser() / 'graphgym_nc']
    if numba.config.CACHE_DIR:
        parents = [Path(numba.config.CACHE_DIR)]
    for parent in parents:
        folder = parent / f'numba-{fingerprint(package.glob("*.py"))}'
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with TemporaryFile(dir=folder):
                return folder
        except OSError:
            continue
    return None


def is_compiled() -> bool:
    """Whether kernels have been compiled before, and kept."""
    folder = _cache_folder()
    return folder is not None and any(folder.rglob('*.nbi'))


def cached(decorator: Callable[..., Any], *args: Any, **options: Any) -> Callable[..., Any]:
    """A decorator of numba's that keeps what it compiles on disk, if there is
    any place where it can.
    """

    def compile_(function: Callable[..., Any]) -> Any:
        folder, given = _cache_folder(), numba.config.CACHE_DIR
        if folder is None:
            return decorator(*args, **options)(function)
        numba.config.CACHE_DIR = str(folder)
        try:
            return decorator(*args, cache=True, **options)(function)
        finally:
            numba.config.CACHE_DIR = given

    return compile_


#: What a compiler may do to sums. Not all that numba's `True` allows: rows may hold NaN, and the
#: floor of a row without ReLU is infinite.
FAST_SUMS = {'reassoc', 'contract', 'nsz', 'arcp'}

#: Decorates a kernel: a function of the packed arguments.
kernel = cached(cfunc, _SIGNATURE, fastmath=FAST_SUMS, error_model='numpy')


def _float_word(value: float) -> int:
    return int(_AS_INTEGER.unpack(_AS_FLOAT.pack(value))[0])


_AS_WORD: dict[type, Callable[[Any], int]] = {
    Tensor: Tensor.data_ptr,
    torch.nn.Parameter: Tensor.data_ptr,
    float: _float_word,
    int: int,
    bool: int,
    type(None): lambda _: 0,
}


def launch(body: Any, *args: Tensor | float | None, threads: int) -> None:
    """Runs a kernel on several threads at once.

    Args:
        body: The kernel.
        *args: Tensors and numbers, as the kernel unpacks them: a word for each, the
            address of a tensor or, for :obj:`None`, zero. That tensors are on the CPU,
            contiguous, and of the type and size that the kernel takes them for, is up to
            the caller: small batches have no time for checks at every call. Further
            arguments are ignored.
        threads: The number of threads; no more than torch has.
    """
    words = array('q', [_AS_WORD[type(value)](value) for value in args])
    address, _ = words.buffer_info()
    if threads > 1 and _runtime is not None:
        _runtime.GOMP_parallel(body.address, address, threads, 0)
    else:
        _BODY(body.address)(address)


def shares_threads() -> bool:
    """Whether kernels run on torch's threads. In a forked process, torch itself had better
    not use any.
    """
    return _runtime is not None or _forked


def threads_for(work: int, least: int = 1 << 14) -> int:
    """How many threads some work is worth, given what one alone is for."""
    return 1 if _runtime is None else max(1, min(torch.get_num_threads(), work // least))


@intrinsic
def _pointer(context: Any, address: Any, dtype: Any) -> Any:
    pointer = types.CPointer(dtype.dtype)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.inttoptr(args[0], context.get_value_type(pointer))

    return pointer(address, dtype), codegen


@njit(inline='always')
def matrix(task: Any, i: int, rows: int, columns: int) -> Any:
    """Argument :obj:`i` as a matrix of float32."""
    return carray(_pointer(task[i], np.float32), (rows, columns))


@njit(inline='always')
def vector(task: Any, i: int, size: int) -> Any:
    """Argument :obj:`i` as a vector of float32; of no elements if it is :obj:`None`."""
    return carray(_pointer(task[i], np.float32), (size if task[i] != 0 else 0,))


@njit(inline='always')
def indices(task: Any, i: int, size: int) -> Any:
    """Argument :obj:`i` as a vector of int32."""
    return carray(_pointer(task[i], np.int32), (size,))


@njit(inline='always')
def counts(task: Any, i: int, size: int) -> Any:
    """Argument :obj:`i` as a vector of int64."""
    return carray(_pointer(task[i], np.int64), (size,))


@njit(inline='always')
def number(task: Any, i: int) -> Any:
    """Argument :obj:`i`, given as a float (an integer is its word itself)."""
    return task[i : i + 1].view(np.float64)[0]


@njit(inline='always')
def doubles(task: Any, i: int, rows: int, columns: int) -> Any:
    """Argument :obj:`i` as a matrix of float64."""
    return carray(_pointer(task[i], np.float64), (rows, columns))
