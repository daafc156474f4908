"""How the workers of a sweep share a machine."""

import os
from collections.abc import Sequence

import torch


def threads_per_worker(workers: int, cpus: int) -> int:
    """The share of each worker in the cores of the CPU."""
    # Whoever has set a number of threads wants no more. There may be one for each nesting level.
    limit = int(os.environ.get('OMP_NUM_THREADS', '').split(',')[0] or cpus)
    return max(1, min(cpus // workers, limit))


def environments(workers: int, threads: int, gpus: Sequence[str]) -> list[dict[str, str]]:
    """The environment of each worker: its number of threads, and its GPU,
    handed out round-robin. It is there before torch is loaded.

    Args:
        workers: The number of workers.
        threads: The number of threads of each.
        gpus: The names of the GPUs, as :obj:`CUDA_VISIBLE_DEVICES` knows them.
    """
    names = ('OMP_NUM_THREADS', 'MKL_NUM_THREADS', 'NUMBA_NUM_THREADS')
    shared = dict.fromkeys(names, str(threads))
    shared['GOMP_SPINCOUNT'] = os.environ.get('GOMP_SPINCOUNT', '10000')  # see docs/speed.md
    if not gpus:
        return [shared] * workers
    return [{**shared, 'CUDA_VISIBLE_DEVICES': gpus[i % len(gpus)]} for i in range(workers)]


def visible_gpus() -> list[str]:
    """The GPUs that may be used, as :obj:`CUDA_VISIBLE_DEVICES` names them."""
    count = torch.cuda.device_count()
    named = [name for name in os.environ.get('CUDA_VISIBLE_DEVICES', '').split(',') if name]
    return named[:count] if named else [str(i) for i in range(count)]


def available_cpus() -> int:
    """The number of cores that this process may use."""
    if hasattr(os, 'sched_getaffinity'):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
