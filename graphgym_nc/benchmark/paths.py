"""The paths that a layer can take on a device, and whether they agree."""

import copy
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn import BatchNorm1d, Linear, ReLU, Sequential

from graphgym_nc import kernels
from graphgym_nc.benchmark.measure import seconds
from graphgym_nc.benchmark.workloads import Workload
from graphgym_nc.nn import NCGNNConv
from graphgym_nc.triangles.incidence import TriangleIncidence

#: How far outputs and gradients may be from those in double precision, relative to their size.
TOLERANCE = 1e-4


def paths(device: torch.device) -> dict[str, str]:
    """All paths on a kind of device, and why each cannot be taken, if so (or an empty text)."""
    reasons = {}
    for path in kernels.CHOICES[1:]:
        if path == ('triton' if device.type == 'cpu' else 'numba'):  # is for the others
            continue
        try:
            with kernels.use(path):
                reasons[path] = ''
        except ImportError as error:
            reasons[path] = str(error)
    return reasons


def default(device: torch.device) -> str:
    """The path that :obj:`auto` takes."""
    if device.type != 'cpu' or paths(device)['numba'] or not kernels.on_all_threads():
        return 'torch'
    return 'numba'


def others(device: torch.device) -> list[str]:
    """The paths beside the one that :obj:`auto` takes on a machine with all of them."""
    usual = 'numba' if device.type == 'cpu' else 'torch'
    return [path for path, reason in paths(device).items() if not reason and path != usual]


def compare_paths(workload: Workload, repeat: int = 5) -> list[dict[str, Any]]:
    """Runs a layer of the paper and a lean one on all paths, forward and backward, and compares
    outputs, gradients and running statistics with those of torch in double precision.
    """
    edge_index, x, channels = workload.data.edge_index, workload.features(), workload.channels
    incidence = TriangleIncidence.build(edge_index, x.size(0))
    rows = []
    for name, stages in (('paper', 2), ('lean', 1)):
        torch.manual_seed(0)
        conv = NCGNNConv(_mlp(channels, 2), _mlp(channels, stages)).to(x.device)
        exact = _state(copy.deepcopy(conv).double(), x.double(), edge_index, incidence, 'torch')
        found = [path for path, reason in paths(x.device).items() if not reason]
        runs = {
            path: partial(_state, copy.deepcopy(conv), x, edge_index, incidence, path)
            for path in found
        }
        difference = {path: _difference(run(), exact) for path, run in runs.items()}
        times = seconds(runs, repeat)
        rows += [
            {
                'device': x.device.type, 'layer': name, 'path': path,
                'greatest difference': difference[path], 'ms': 1e3 * times[path],
            }
            for path in found
        ]  # fmt: skip
    return rows


def _mlp(channels: int, stages: int) -> Sequential:
    layers = [Linear(channels, channels), BatchNorm1d(channels), ReLU()]
    return Sequential(*(copy.deepcopy(layer) for _ in range(stages) for layer in layers))


def _state(
    conv: torch.nn.Module, x: Tensor, edge_index: Tensor, incidence: TriangleIncidence, path: str
) -> dict[str, Tensor]:
    """Output, gradients and running statistics."""
    x = x.detach().requires_grad_()
    with kernels.use(path):
        out = conv(x, edge_index, incidence)
        named = {'x': x, **dict(conv.named_parameters())}
        found = torch.autograd.grad(out.square().mean(), list(named.values()))
    return {
        'out': out.detach(),
        **dict(zip(named, found, strict=True)),
        **dict(conv.named_buffers()),
    }


def _difference(found: dict[str, Tensor], exact: dict[str, Tensor]) -> float:
    """The greatest difference of all, each relative to its own size; but those of a Linear
    layer's bias before BatchNorm are zero, and only rounding is left, so to that of its weight.
    """
    return max(_relative(found, exact, name) for name in found)


def _relative(found: dict[str, Tensor], exact: dict[str, Tensor], name: str) -> float:
    size = exact[name].double().norm()
    weight = exact.get(name.removesuffix('bias') + 'weight')
    if name.endswith('bias') and weight is not None:
        size = torch.maximum(size, weight.norm())
    error = (found[name].double() - exact[name].double()).norm()
    return float(error / size.clamp(min=1e-12))
