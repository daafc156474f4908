"""What a layer would launch on a GPU, counted without one."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from graphgym_nc.benchmark.layer import Contestants
from graphgym_nc.benchmark.workloads import Workload

_aten = torch.ops.aten

# Beside views: they make a tensor, and leave it to others to write to it.
_LAUNCH_NOTHING = {
    _aten._unsafe_view, _aten.alias, _aten.detach, _aten.empty, _aten.empty_like,
    _aten.empty_strided, _aten.lift_fresh, _aten.new_empty, _aten.new_empty_strided,
}  # fmt: skip

# In place, without a look at what was there.
_WRITE_ALONE = {_aten.copy_, _aten.fill_, _aten.zero_}

_SUMS_OF_ROWS = {_aten._embedding_bag, _aten._embedding_bag_forward_only}


class LaunchCounter(TorchDispatchMode):
    """Counts the operations within this context that launch something on a GPU.

    These are torch's own, below autograd, but for views, operations that make an empty
    tensor, and those on tensors without elements. An operation may be more than one kernel:
    BatchNorm is two. Every tensor that an operation reads or writes counts once, with the
    elements that it has in memory. The rows that a sum comes back to count on their own.

    Attributes:
        operations: The operations, and how often each was launched.
        bytes: The bytes that they read and write.
        gathered: The bytes of all rows that are read by their index.
    """

    def __init__(self) -> None:
        super().__init__()
        self.operations: Counter[str] = Counter()
        self.bytes = self.gathered = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        out = func(*args, **(kwargs or {}))
        operation = func.overloadpacket
        if not func.is_view and operation not in _LAUNCH_NOTHING:
            self._note(func, args, kwargs or {}, out)
        return out

    def _note(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> None:
        arguments = list(zip(func._schema.arguments, args, strict=False))
        arguments += [(a, kwargs[a.name]) for a in func._schema.arguments if a.name in kwargs]
        read, written = [], []
        for argument, value in arguments:
            tensors = [leaf for leaf in tree_leaves(value) if isinstance(leaf, Tensor)]
            changed = argument.alias_info is not None and argument.alias_info.is_write
            written += tensors if changed else []
            only_written = func.overloadpacket in _WRITE_ALONE or argument.is_out
            read += [] if changed and only_written else tensors
        sums_rows = func.overloadpacket in _SUMS_OF_ROWS
        made = [t for t in tree_leaves(out[0] if sums_rows else out) if isinstance(t, Tensor)]
        written += [tensor for tensor in made if all(tensor is not other for other in written)]
        read = list({id(tensor): tensor for tensor in read}.values())
        size = sum(map(_bytes, read)) + sum(map(_bytes, written))
        if size == 0:
            return
        self.operations[func.overloadpacket.__name__] += 1
        self.bytes += size
        if sums_rows:
            rows, index = args[:2]
            self.gathered += index.numel() * rows.size(1) * rows.element_size()
        elif func.overloadpacket is _aten.index_select:
            self.gathered += _bytes(made[0])


def _bytes(tensor: Tensor) -> int:
    """What a tensor has in memory: what is expanded is there once."""
    shape = zip(tensor.shape, tensor.stride(), strict=True)
    number = 1
    for size, stride in shape:
        number *= size if stride != 0 else min(size, 1)
    return number * tensor.element_size()


def count_launches(function: Callable[[], object]) -> LaunchCounter:
    """Counts what a function launches when it is called for the second time."""
    function()
    with LaunchCounter() as counter:
        function()
    return counter


def measure_launches(workload: Workload) -> dict[str, Any]:
    """Counts what layers launch on a workload, forward and backward, all of them by torch."""
    contestants = Contestants.of(workload, materialise=False)
    row: dict[str, Any] = {'workload': workload.name, 'graphs': workload.source}
    for name in ('GINConv', 'NC-GNN, torch', 'lean, torch'):
        if name not in contestants.functions: continue
        counter = count_launches(contestants.functions[name])
        row |= {
            f'{name}': sum(counter.operations.values()),
            f'{name}, MB': counter.bytes / 1e6,
            f'{name}, MB gathered': counter.gathered / 1e6,
        }
        import sys; print(name, counter.operations.most_common(), file=sys.stderr)
    return row
