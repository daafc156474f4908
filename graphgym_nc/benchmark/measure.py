"""Time and memory of functions, side by side."""

import time
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

import numpy as np
import torch
from torch._C._profiler import _EventType
from torch.profiler import ProfilerActivity, profile
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry
from tqdm import tqdm

Function = Callable[[], object]


def seconds(
    functions: Mapping[str, Function],
    repeat: int,
    what: str = '',
    least: float = 0.0,
    of_all: Callable[[list[float]], Any] = np.median,
) -> dict[str, float]:
    """The time of functions that are called one after the other, in an order that is drawn anew
    each time, so that whatever the machine and the others do, they do to all of them.

    Args:
        functions: The functions, by name.
        repeat: How often to call each, at least, after once to warm up.
        what: What to show beside the progress bar.
        least: For how many seconds to go on, at least.
        of_all: What to make of all times of a function.
    """
    times: dict[str, list[float]] = {name: [] for name in functions}
    for function in functions.values():
        function()
    wait()
    order, begin, rounds = Random(0), time.perf_counter(), 0
    with tqdm(total=repeat, desc=what, leave=False, disable=None) as bar:
        while rounds < repeat or time.perf_counter() - begin < least:
            for name, function in order.sample([*functions.items()], len(functions)):
                start = time.perf_counter()
                function()
                wait()
                times[name].append(time.perf_counter() - start)
            rounds += 1
            bar.update(rounds <= repeat)
    return {name: float(of_all(values)) for name, values in times.items()}


def wait() -> None:
    """Waits for the GPU, if one is in use."""
    if torch.cuda.is_initialized():
        torch.cuda.synchronize()


def peak_bytes(function: Function) -> int:
    """The most memory that the tensors a function makes take at any one time: on the GPU, if one
    is in use.
    """
    function()
    if torch.cuda.is_initialized():
        wait()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        function()
        return torch.cuda.max_memory_allocated() - before
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        function()
    changes: list[tuple[int, int]] = []
    events = list(profiler.profiler.kineto_results.experimental_event_tree())
    while events:
        event = events.pop()
        events += event.children
        if event.typed[0] == _EventType.Allocation:
            changes.append((event.start_time_ns, event.typed[1].alloc_size))
    total = np.cumsum([size for _, size in sorted(changes)])
    return int(total.max(initial=0))


class FlopCounter(TorchDispatchMode):
    """Counts floating point operations. Unlike torch's :class:`FlopCounterMode`, it hooks into no
    module: layers call a module with hooks as it is, even where less work would do.

    Attributes:
        total: The number of operations so far.
    """

    def __init__(self) -> None:
        super().__init__()
        self.total = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        out = func(*args, **kwargs)
        count = flop_registry.get(func.overloadpacket)
        self.total += 0 if count is None else count(*args, **kwargs, out_val=out)
        return out


def copy_bandwidth(size: int = 1 << 28, device: Any = 'cpu') -> float:
    """The bytes that a device reads and writes in a second."""
    source, target = torch.zeros(2, size // 4, device=device)
    return 2 * size / _best_time(lambda: target.copy_(source))


def matmul_flops(rows: int, width: int, device: Any = 'cpu') -> float:
    """The floating point operations per second of such a matrix product."""
    x, out = torch.randn(2, rows, width, device=device)
    weight = torch.randn(width, width, device=device)
    return 2 * rows * width * width / _best_time(lambda: torch.mm(x, weight, out=out))


def _best_time(function: Function) -> float:
    return seconds({'': function}, 5, least=0.2, of_all=min)['']
