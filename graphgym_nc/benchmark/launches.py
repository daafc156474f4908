"""What a layer would launch on a GPU, counted without one."""

import copy
import math
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch.nn import BatchNorm1d, Linear, ReLU, Sequential
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch_geometric.nn import GINConv

from graphgym_nc import kernels
from graphgym_nc.benchmark.layer import paper_mlp
from graphgym_nc.benchmark.workloads import Workload
from graphgym_nc.nn import NCGNNConv
from graphgym_nc.triangles.incidence import TriangleIncidence

_aten = torch.ops.aten

# Beside views: they make a tensor, and leave it to others to write to it.
_LAUNCH_NOTHING = {
    _aten._unsafe_view, _aten.alias, _aten.detach, _aten.empty, _aten.empty_like,
    _aten.empty_strided, _aten.lift_fresh, _aten.new_empty, _aten.new_empty_strided,
}  # fmt: skip

# In place, without a look at what was there.
_WRITE_ALONE = {_aten.copy_, _aten.fill_, _aten.zero_}

# Of a kernel, in the code that torch's compiler writes.
_CALL = re.compile(
    r'^ +(?:\w+ = )?'
    r'(?:cpp_fused\w*|triton_\w+\.run|extern_kernels\.\w+|torch\.ops\.aten\.[\w.]+)\(',
    re.MULTILINE,
)

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
        if sums_rows:
            out = out[0]
        if func.overloadpacket is _aten.native_batch_norm_backward:  # of which some are not wanted
            out = [part for part, wanted in zip(out, args[-1], strict=True) if wanted]
        made = [leaf for leaf in tree_leaves(out) if isinstance(leaf, Tensor)]
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


@dataclass(frozen=True)
class Run:
    """A layer that runs forward and backward, as a function."""

    module: torch.nn.Module
    x: Tensor
    args: tuple[Any, ...]

    def __call__(self) -> None:
        x = self.x.detach().requires_grad_()
        self.module.zero_grad()
        with kernels.use('torch'):
            self.module(x, *self.args).backward(self.x)

    def to(self, device: str) -> 'Run':
        """The same on a device."""
        edge_index, *incidence = (arg.to(device) for arg in self.args)
        args = (edge_index, *(replace(part, edge_index=edge_index) for part in incidence))
        return Run(copy.deepcopy(self.module).to(device), self.x.to(device), args)


def count_launches(function: Callable[[], object]) -> LaunchCounter:
    """Counts what a function launches."""
    with LaunchCounter() as counter:
        function()
    return counter


def count_compiled(layer: Run) -> float:
    """How many kernels torch's compiler makes of a layer, forward and backward, with products and
    sums of rows, which it leaves to others; no number where it has no compiler to call.
    """
    from torch._dynamo.exc import BackendCompilerFailed
    from torch._inductor.utils import run_and_get_code

    torch.compiler.reset()
    compiled: Any = torch.compile(copy.deepcopy(layer.module), fullgraph=True, dynamic=True)
    try:
        _, sources = run_and_get_code(replace(layer, module=compiled))
    except BackendCompilerFailed:
        return math.nan
    return sum(len(_CALL.findall(source)) for source in sources)


def measure_launches(workload: Workload, compiled: bool = False) -> dict[str, Any]:
    """Counts what layers launch on a workload, forward and backward, all of it torch's.

    Tensors have no data (they are on the meta device), as for what is launched, only their
    shapes matter. What is found once for every batch counts apart.

    Args:
        workload: The graphs.
        compiled: Whether to count the kernels of torch's compiler as well, on this machine.
    """
    edge_index, num_nodes = workload.data.edge_index, workload.data.num_nodes
    incidence = TriangleIncidence.build(edge_index, num_nodes)
    row: dict[str, Any] = {'workload': workload.name, 'graphs': workload.source}
    for name, module in layers(workload.channels).items():
        args = (edge_index,) if name == 'GINConv' else (edge_index, incidence)
        x = workload.features()
        layer = Run(module.to(x.device), x, args)
        on_meta = layer.to('meta')
        first, again = count_launches(on_meta), count_launches(on_meta)
        row[name] = again.operations.total()
        row[f'{name}, MB'] = again.bytes / 1e6
        row[f'{name}, gathered MB'] = again.gathered / 1e6
        if name != 'GINConv':
            row[f'{name}, per batch'] = first.operations.total() - row[name]
        if compiled:
            row[f'{name}, compiled'] = count_compiled(layer)
    return row


def layers(channels: int) -> dict[str, torch.nn.Module]:
    """The layers to compare."""
    lean = Sequential(Linear(channels, channels), BatchNorm1d(channels), ReLU())
    return {
        'GINConv': GINConv(paper_mlp(channels), train_eps=True),
        'NC-GNN': NCGNNConv(paper_mlp(channels), paper_mlp(channels)),
        'lean': NCGNNConv(paper_mlp(channels), lean, communicate_aggr='sqrt'),
    }
