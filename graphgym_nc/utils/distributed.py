"""What the processes of one training do together.

In a single process, nothing is sent: each function returns what it is given or computes.
"""

from collections.abc import Callable, Iterator
from typing import Any, TypeVar, cast

import torch
import torch.distributed as dist
from torch import Tensor
from torch.utils.data import BatchSampler, Sampler

T = TypeVar('T')


def world_size(group: Any = None) -> int:
    """The number of processes."""
    return dist.get_world_size(group) if _is_distributed() else 1


def rank() -> int:
    """The number of this process."""
    return dist.get_rank() if _is_distributed() else 0


def is_first() -> bool:
    """Whether this is the process that writes."""
    return rank() == 0


def broadcast(value: T) -> T:
    """What the first process has in place of :obj:`value`."""
    if world_size() == 1:
        return value
    values = [value if is_first() else None]
    dist.broadcast_object_list(values, src=0)
    return cast(T, values[0])


def first_only(function: Callable[[], T]) -> T:
    """Calls a function in the first process alone.

    Returns:
        Its result, in all processes.

    Raises:
        Exception: Whatever it raises, in all processes: none goes on while the
            others do not.
    """
    result: Any = None
    error: Exception | None = None
    if is_first():
        try:
            result = function()
        except Exception as raised:
            error = raised
    result, error = broadcast((result, error))
    if error is not None:
        raise error
    return cast(T, result)


def sum_over_processes(tensor: Tensor, group: Any = None) -> Tensor:
    """The sum of a tensor that all processes have (in place)."""
    dist.all_reduce(tensor, group=group)
    return tensor


def gather_rows(tensor: Tensor) -> Tensor:
    """The rows of all processes, in their order.

    Every process must compute the same function of all rows. The gradient of a process's
    own rows is then multiplied by the number of processes. DDP takes the mean over
    processes, and so divides by this number again.
    """
    return _GatherRows.apply(tensor) if world_size() > 1 else tensor


class ShareSampler(Sampler[list[int]]):
    """The batches of one process: its share of every batch that a single
    process would draw, so that all of them together are that batch, in order.

    A last batch of fewer items than processes is joined to the one before.

    Args:
        sampler: Draws the batches.
        generator: What it draws them from, if at random; seeded as the first
            process says, and as :class:`torch.utils.data.RandomSampler` would
            by itself.
    """

    def __init__(self, sampler: BatchSampler, generator: torch.Generator | None = None) -> None:
        self.sampler, self.generator = sampler, generator
        self.size, self.batch_size = len(cast(Any, sampler.sampler)), sampler.batch_size
        if self.size < world_size():
            raise ValueError(f'{self.size} items are too few for {world_size()} processes')

    def __len__(self) -> int:
        full, rest = divmod(self.size, self.batch_size)
        joined = full > 0 and rest < world_size()
        return full if joined else full + 1

    def __iter__(self) -> Iterator[list[int]]:
        if self.generator is not None:
            seed = torch.empty((), dtype=torch.int64).random_().item()
            self.generator.manual_seed(broadcast(int(seed)))
        batches = iter(self.sampler)
        for _ in range(len(self) - 1):
            yield self._share(next(batches))
        yield self._share([index for batch in batches for index in batch])

    def _share(self, batch: list[int]) -> list[int]:
        cuts = [len(batch) * i // world_size() for i in (rank(), rank() + 1)]
        return batch[cuts[0] : cuts[1]]


class _GatherRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor) -> Tensor:
        sizes = [torch.zeros(1, dtype=torch.long) for _ in range(world_size())]
        dist.all_gather(sizes, torch.tensor([tensor.size(0)]))
        ctx.sizes = [int(size) for size in sizes]
        shape = tensor.shape[1:]
        padded = tensor.new_zeros(max(ctx.sizes), *shape)
        padded[: tensor.size(0)] = tensor
        gathered = [torch.empty_like(padded) for _ in ctx.sizes]
        dist.all_gather(gathered, padded)
        return torch.cat([rows[:n] for rows, n in zip(gathered, ctx.sizes, strict=True)])

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        # All processes compute the same function of the rows, and so have the same gradient.
        return grad.split(ctx.sizes)[rank()] * len(ctx.sizes)


def _is_distributed() -> bool:
    return dist.is_available() and dist.is_initialized()
