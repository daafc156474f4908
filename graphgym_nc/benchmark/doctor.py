"""Which path layers take on this machine, and why."""

import platform
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any

import torch
from torch_geometric.data import Batch, Data
from torch_geometric.utils import erdos_renyi_graph

from graphgym_nc.benchmark.paths import compare_paths, default, paths
from graphgym_nc.benchmark.workloads import Workload
from graphgym_nc.utils.memory import keep_freed_memory


def devices() -> list[torch.device]:
    """The CPU, and a GPU if torch can use one."""
    return [torch.device('cpu'), *([torch.device('cuda')] if torch.cuda.is_available() else [])]


def facts() -> list[str]:
    """What decides on paths, a line each, and which path is taken on every device."""
    lines = [
        f'Python {platform.python_version()}, {platform.system()} {platform.machine()}',
        f'torch {torch.__version__}, {torch.get_num_threads()} thread(s)',
        *(f'{name}: {_installed(name)}' for name in ('numba', 'triton')),
        f'OpenMP: {_openmp()}',
    ]
    for device in devices():
        on = 'CPU' if device.type == 'cpu' else f'GPU ({torch.cuda.get_device_name(device)})'
        found = paths(device)
        lines += [f'{on}: {path} cannot be used: {why}' for path, why in found.items() if why]
        lines.append(f"{on}: 'nc.kernel: auto' takes {default(device)}, as {_why(device)}")
    if not torch.cuda.is_available():
        lines.append('GPU: torch finds none')
    return lines


def comparison() -> list[dict[str, Any]]:
    """All paths on a small batch, on every device."""
    keep_freed_memory()
    torch.manual_seed(0)
    graphs = [Data(edge_index=erdos_renyi_graph(60, 0.4), num_nodes=60) for _ in range(8)]
    workload = Workload('small', 'drawn', Batch.from_data_list(graphs), channels=64)
    return [row for device in devices() for row in compare_paths(workload.to(device.type))]


def _installed(name: str) -> str:
    if find_spec(name) is None:
        return 'not installed'
    try:
        return version(name)
    except PackageNotFoundError:
        return 'of unknown version'


def _openmp() -> str:
    try:
        from graphgym_nc.kernels import openmp
    except ImportError:
        return 'not looked at, as it is for numba'
    if openmp.shares_threads():
        return "libgomp, torch's own: kernels run on all of its threads"
    return "torch's is no libgomp: kernels would run on one thread"


def _why(device: torch.device) -> str:
    if device.type != 'cpu':
        return 'always on a GPU: others are taken if asked for'
    if paths(device)['numba']:
        return 'numba cannot be used'
    if default(device) == 'torch':
        return 'kernels would run on one thread'
    return 'numba can be used; for float32 and int32 indices, otherwise torch'
