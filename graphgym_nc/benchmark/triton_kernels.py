"""What compilers make of the kernels in Triton, for GPUs that need not be here."""

import re
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from graphgym_nc.benchmark.layer import paper_mlp
from graphgym_nc.kernels.triton import INTERPRETED, Launch, noting_launches
from graphgym_nc.nn._stages import as_stages, flatten
from graphgym_nc.nn._triton import communicate_by_triton
from graphgym_nc.triangles.incidence import TriangleIncidence

#: GPUs to compile for: A100, H100, MI300.
TARGETS = {
    'sm_80': GPUTarget('cuda', 80, 32),
    'sm_90': GPUTarget('cuda', 90, 32),
    'gfx942': GPUTarget('hip', 'gfx942', 64),
}

_TYPES = {
    torch.float32: '*fp32', torch.bfloat16: '*bf16', torch.int32: '*i32', torch.int64: '*i64',
}  # fmt: skip


_CUOBJDUMP = Path(triton.__file__).parent / 'backends' / 'nvidia' / 'bin' / 'cuobjdump'


class Resources(NamedTuple):
    """What a compiled kernel takes.

    Attributes:
        registers: Registers of a thread.
        spilled: Bytes of a thread that found no place in registers.
        shared: Bytes of shared memory of a program.
    """

    registers: int
    spilled: int
    shared: int


class Case(NamedTuple):
    """What rows and indices kernels are to be compiled for.

    Attributes:
        dtype: The type of rows.
        indices: The type of indices.
        width: The width of rows.
    """

    dtype: torch.dtype = torch.float32
    indices: torch.dtype = torch.int32
    width: int = 70


#: What :meth:`measure_kernels` compiles for.
CASES = tuple(
    Case(dtype, indices, width)
    for dtype, indices in (
        (torch.float32, torch.int32),
        (torch.float32, torch.int64),
        (torch.bfloat16, torch.int32),
    )
    for width in (64, 70)
)


def measure_kernels(
    targets: Sequence[str] = tuple(TARGETS), cases: Sequence[Case] = CASES
) -> list[dict[str, Any]]:
    """What kernels take, a row for each kernel and type of rows: the most of all its forms."""
    most: dict[tuple[str, str], dict[str, Resources]] = {}
    for case in cases:
        for launch in distinct_launches(case):
            key = launch.kernel.fn.__name__, str(case.dtype).removeprefix('torch.')
            for target in targets:
                found, so_far = compiled(launch, target), most.setdefault(key, {})
                before = so_far.get(target, found)
                so_far[target] = Resources(*map(max, found, before))
    return [
        {'kernel': kernel, 'rows': dtype}
        | {target: ' / '.join(map(str, found)) for target, found in of_each.items()}
        for (kernel, dtype), of_each in sorted(most.items())
    ]


def distinct_launches(case: Case) -> list[Launch]:
    """A launch for each form that a kernel takes in a layer, full or lean, with and without
    statistics of the batch.
    """
    # A ring of nodes, each with edges to the next eight: more messages than in a window.
    node, step = torch.arange(40).repeat(8), torch.arange(1, 9).repeat_interleave(40)
    incidence = TriangleIncidence.build(torch.stack([node, (node + step) % 40]), 40)
    incidence = _with_index(incidence, case.indices)
    found: dict[tuple[Any, ...], Launch] = {}
    full = paper_mlp(case.width).to(case.dtype)
    for layers in (full, full[:3]):
        for training in (True, False):
            layers.train(training)
            for launch in launches_of(layers, incidence):
                types = *map(_type_of, launch.args), *launch.options.values()
                found.setdefault((launch.kernel.fn.__name__, types), launch)
    return list(found.values())


def launches_of(layers: torch.nn.Module, incidence: TriangleIncidence) -> list[Launch]:
    """All launches of a network over edges, forward and backward; none runs."""
    stages = as_stages(list(flatten(layers)))
    assert stages is not None
    weight = stages[0].parameters[0]
    x = weight.new_zeros(incidence.num_nodes, weight.size(1)).requires_grad_()
    with noting_launches() as launches:
        communicate_by_triton(stages, x, incidence).sum().backward()
    return launches


def _with_index(incidence: TriangleIncidence, dtype: torch.dtype) -> TriangleIncidence:
    assert incidence.twins is None, 'sums would be those over twins'
    matrices = incidence.endpoints, incidence.opposite
    endpoints, opposite = (m._map(lambda part: part.to(dtype)) for m in matrices)
    weight = incidence.weight.to(dtype)
    return replace(incidence, endpoints=endpoints, opposite=opposite, weight=weight)


def compiled(launch: Launch, target: str) -> Resources:
    """What a kernel takes as it would be launched on a device."""
    binary = binary_of(launch, target)
    shared = binary.metadata.shared
    if TARGETS[target].backend == 'cuda':
        return _of_cuda(binary.asm['cubin'], shared)
    return _of_amd(binary.asm['amdgcn'], shared)


def binary_of(launch: Launch, target: str) -> Any:
    """Compiles a kernel as it would be for a launch on a device."""
    if INTERPRETED:
        raise RuntimeError('kernels are interpreted: unset TRITON_INTERPRET to compile them')
    kernel, names = launch.kernel, launch.kernel.arg_names
    options = {name: value for name, value in launch.options.items() if name not in names}
    constants = {name: value for name, value in launch.options.items() if name in names}
    signature, attributes = dict.fromkeys(names, 'constexpr'), {}
    for i, (name, value) in enumerate(zip(names, launch.args, strict=False)):
        special = name not in kernel.do_not_specialize
        if value is None or (special and isinstance(value, int) and value == 1):
            constants[name] = value
            continue
        signature[name] = _type_of(value)
        # What torch allocates begins at a multiple of 16.
        if isinstance(value, torch.Tensor) or (special and value % 16 == 0):
            attributes[(i,)] = [['tt.divisibility', 16]]
    source = ASTSource(kernel, signature, constexprs=constants, attrs=attributes)
    return triton.compile(source, target=TARGETS[target], options=options)


def _type_of(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return _TYPES[value.dtype]
    return 'none' if value is None else 'fp32' if isinstance(value, float) else 'i32'


def _of_cuda(binary: bytes, shared: int) -> Resources:
    with tempfile.NamedTemporaryFile(suffix='.cubin') as file:
        file.write(binary)
        file.flush()
        command = [str(_CUOBJDUMP), '--dump-resource-usage', file.name]
        usage = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    spilled = _number(usage, r'STACK:(\d+)') + _number(usage, r'LOCAL:(\d+)')
    return Resources(_number(usage, r'REG:(\d+)'), spilled, shared)


def _of_amd(assembly: str, shared: int) -> Resources:
    spilled = sum(_number(assembly, rf'\.{kind}gpr_spill_count: *(\d+)') for kind in 'vs')
    return Resources(_number(assembly, r'\.vgpr_count: *(\d+)'), 4 * spilled, shared)


def _number(text: str, pattern: str) -> int:
    found = re.search(pattern, text)
    assert found is not None, f'no {pattern} in {text}'
    return int(found.group(1))
