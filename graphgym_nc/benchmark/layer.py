"""One layer, forward and backward."""

import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn import BatchNorm1d, Linear, ReLU, Sequential
from torch_geometric.nn import GINConv

from graphgym_nc import kernels
from graphgym_nc.benchmark.measure import peak_bytes, seconds
from graphgym_nc.benchmark.paths import others
from graphgym_nc.benchmark.workloads import Workload
from graphgym_nc.nn import NCGNNConv
from graphgym_nc.triangles.incidence import TriangleIncidence
from graphgym_nc.triangles.listing import find_triangles

# A reference that materialises more messages than that takes too much memory.
_MAX_MATERIALISED = 1 << 28


def paper_mlp(channels: int) -> Sequential:
    """MLP1 or MLP2 of the paper."""
    layers = [Linear(channels, channels), BatchNorm1d(channels), ReLU()]
    return Sequential(*layers, *copy.deepcopy(layers))


def lean_mlp(channels: int) -> Sequential:
    """MLP2 of the lean layer."""
    return Sequential(Linear(channels, channels), BatchNorm1d(channels), ReLU())


class MaterialisingConv(NCGNNConv):
    """NC-GNN with a row for every one of its messages."""

    def forward(self, x: Tensor, edge_index: Any, triangle_index: Any = None) -> Tensor:
        a, b, c = triangle_index
        receiver = torch.cat([a, b, c])
        message = self.nn_communicate(x[torch.cat([b, a, a])] + x[torch.cat([c, c, b])])
        out = self.propagate(edge_index, x=x) + (1 + self.eps) * x
        return self.nn(out.index_add(0, receiver, message))


class FastGINConv(GINConv):
    """GIN with NC-GNN's sum over neighbours, to see what that alone gains."""

    def forward(self, x: Any, edge_index: Any, size: Any = None) -> Tensor:
        return self.nn(edge_index.neighbours.row_sum(x) + (1 + self.eps) * x)


@dataclass(frozen=True)
class Contestants:
    """Layers with the same weights, as functions that run forward and backward."""

    functions: Mapping[str, Callable[[], None]]
    incidence: TriangleIncidence

    @staticmethod
    def of(workload: Workload, materialise: bool = True) -> 'Contestants':
        """All layers that can run on a workload."""
        edge_index, num_nodes = workload.data.edge_index, workload.data.num_nodes
        x = workload.features().requires_grad_()
        incidence = TriangleIncidence.build(edge_index, num_nodes)
        torch.manual_seed(0)
        gin = GINConv(paper_mlp(workload.channels), train_eps=True).to(x.device)
        conv = NCGNNConv(paper_mlp(workload.channels), paper_mlp(workload.channels)).to(x.device)
        conv.nn.load_state_dict(gin.nn.state_dict())
        lean = NCGNNConv(paper_mlp(workload.channels), lean_mlp(workload.channels)).to(x.device)
        lean.nn.load_state_dict(gin.nn.state_dict())
        fast_gin = FastGINConv(paper_mlp(workload.channels), train_eps=True).to(x.device)
        fast_gin.load_state_dict(gin.state_dict())
        functions: dict[str, Callable[[], None]] = {
            'GINConv': partial(_run, gin, x, edge_index),
            **{
                name + suffix: function
                for name, layer in (('NC-GNN', conv), ('lean', lean))
                for suffix, function in _on_all_paths(layer, x, edge_index, incidence)
            },
            'GIN, our sum': partial(_run, fast_gin, x, incidence),
        }
        if materialise and incidence.num_messages * workload.channels < _MAX_MATERIALISED:
            triangles = find_triangles(edge_index, num_nodes)
            slow = MaterialisingConv(paper_mlp(workload.channels), paper_mlp(workload.channels))
            slow.to(x.device).load_state_dict(conv.state_dict())
            functions['every message'] = partial(_run, slow, x, edge_index, triangles)
        return Contestants(functions, incidence)


def _run(conv: torch.nn.Module, x: Tensor, *args: Any) -> None:
    x.grad = None
    conv.zero_grad()
    conv(x, *args).sum().backward()


def _on_all_paths(
    layer: torch.nn.Module, x: Tensor, *args: Any
) -> Iterator[tuple[str, Callable[[], None]]]:
    """A layer as it runs of itself, and on every other path that there is here."""
    yield '', partial(_run, layer, x, *args)
    for path in others(x.device):
        yield f', {path}', partial(_run_on, path, copy.deepcopy(layer), x, *args)


def _run_on(path: str, conv: torch.nn.Module, x: Tensor, *args: Any) -> None:
    with kernels.use(path):
        _run(conv, x, *args)


def measure_layer(workload: Workload, repeat: int) -> dict[str, Any]:
    """Times all layers on a workload, as multiples of GIN's time."""
    contestants = Contestants.of(workload)
    times = seconds(contestants.functions, repeat, workload.name, least=2.0)
    gin = times['GINConv']
    return {
        'workload': workload.name,
        'graphs': workload.source,
        'messages': contestants.incidence.num_messages,
        'GINConv ms': 1e3 * gin,
        **{name: time / gin for name, time in times.items() if name != 'GINConv'},
    }


def measure_memory(workload: Workload) -> dict[str, Any]:
    """The peak memory of all layers on a workload, as multiples of GIN's."""
    contestants = Contestants.of(workload)
    peaks = {name: peak_bytes(function) for name, function in contestants.functions.items()}
    gin = peaks['GINConv']
    return {
        'workload': workload.name,
        'graphs': workload.source,
        'messages': contestants.incidence.num_messages,
        'GINConv MB': gin / 2**20,
        **{name: peak / gin for name, peak in peaks.items() if name != 'GINConv'},
    }
