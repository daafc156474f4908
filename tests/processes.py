"""Functions that run in several processes at once."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def run_in_processes(number: int, function: Callable[[], Any], folder: Path) -> list[Any]:
    """The results of a function, in each of several processes over gloo."""
    mp.spawn(_work, (number, function, str(folder)), number)
    return [torch.load(folder / f'{rank}.pt', weights_only=False) for rank in range(number)]


def _work(rank: int, number: int, function: Callable[[], Any], folder: str) -> None:
    torch.set_num_threads(1)
    store = f'file://{folder}/store'
    dist.init_process_group('gloo', init_method=store, rank=rank, world_size=number)
    torch.save(function(), f'{folder}/{rank}.pt')
    dist.destroy_process_group()
