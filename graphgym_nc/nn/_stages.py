"""Looks into a network, as far as it is made of torch's own layers."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, cast

import torch
import torch_geometric.nn
from torch import Tensor
from torch.nn.modules.module import _has_any_global_hook
from torch_geometric.nn.aggr import SumAggregation
from torch_geometric.nn.conv import MessagePassing

from graphgym_nc.kernels import can_read

# What of message passing a subclass may have made its own.
_STEPS = ('message', 'aggregate', 'message_and_aggregate', 'update', 'propagate')

_LINEAR = (torch.nn.Linear, torch_geometric.nn.Linear)


class Stage(NamedTuple):
    """A Linear layer and what follows it.

    Attributes:
        parameters: Weight and bias of the Linear layer, then of BatchNorm.
        norm: The BatchNorm after it.
        running: The running mean and variance that it has.
        relu: Whether a ReLU comes last.
    """

    parameters: tuple[Tensor, Tensor | None, Tensor | None, Tensor | None]
    norm: torch.nn.BatchNorm1d | None
    running: tuple[Tensor | None, Tensor | None]
    relu: bool

    @staticmethod
    def of(linear: torch.nn.Module, norm: torch.nn.BatchNorm1d | None, relu: bool) -> 'Stage':
        """The stage of these layers."""
        weight, bias = cast(Tensor, _tensor(linear, 'weight')), _tensor(linear, 'bias')
        if norm is None:
            return Stage((weight, bias, None, None), None, (None, None), relu)
        parameters = weight, bias, _tensor(norm, 'weight'), _tensor(norm, 'bias')
        running = _tensor(norm, 'running_mean'), _tensor(norm, 'running_var')
        return Stage(parameters, norm, running, relu)

    @staticmethod
    def product(weight: Tensor) -> 'Stage':
        """The stage of a matrix product alone."""
        return Stage((weight, None, None, None), None, (None, None), False)

    @property
    def is_linear(self) -> bool:
        """Whether nothing follows."""
        return self.norm is None and not self.relu

    @property
    def width(self) -> int:
        return self.parameters[0].size(0)

    def fits(
        self,
        width: int,
        weights: tuple[torch.dtype, ...] = (torch.float32,),
        vectors: tuple[torch.dtype, ...] = (torch.float32,),
        device: torch.device | None = None,
    ) -> bool:
        """Whether kernels can run it on rows of a width: with tensors of the types that
        they take, and running statistics that lie side by side.
        """
        weight, *others = self.parameters
        mean, var = self.running
        if mean is None or var is None:
            if mean is not var:
                return False
        elif not (mean.is_contiguous() and var.is_contiguous()):
            return False
        if weight.dtype not in weights or weight.size(1) != width:
            return False
        shape = weight.shape[:1]
        return can_read(weight, device) and all(
            v is None or (v.dtype in vectors and v.shape == shape and can_read(v, device))
            for v in (*others, mean, var)
        )


def all_fit(stages: Sequence[Stage], width: int, *what: Any) -> bool:
    """Whether kernels can run all stages, one after the other: see :meth:`Stage.fits`."""
    for stage in stages:
        if not stage.fits(width, *what):
            return False
        width = stage.width
    return True


def as_stages(layers: Sequence[torch.nn.Module]) -> list[Stage] | None:
    """A network as stages, each of a Linear layer and perhaps BatchNorm and
    ReLU; :obj:`None` if it is no such network.
    """
    stages: list[Stage] = []
    linear: torch.nn.Module | None = None
    norm: torch.nn.BatchNorm1d | None = None
    relu = False
    for layer in layers:
        if not is_plain(layer):
            return None
        if type(layer) in _LINEAR:
            if linear is not None:
                stages.append(Stage.of(linear, norm, relu))
            linear, norm, relu = layer, None, False
        elif linear is None or relu:
            return None
        elif type(layer) is torch.nn.ReLU:
            relu = True
        elif type(layer) is torch.nn.BatchNorm1d and norm is None:
            norm = layer
        else:
            return None
    return None if linear is None else [*stages, Stage.of(linear, norm, relu)]


def _tensor(module: torch.nn.Module, name: str) -> Tensor | None:
    """A parameter or buffer of a module, which itself would take its time to find it."""
    for tensors in (module._parameters, module._buffers):
        if name in tensors:
            return tensors[name]
    return cast(Tensor | None, getattr(module, name))


def flatten(nn: torch.nn.Module) -> Iterator[torch.nn.Module]:
    """The layers of (nested) :class:`torch.nn.Sequential` modules."""
    if type(nn) is torch.nn.Sequential and is_plain(nn):
        for child in nn:
            yield from flatten(child)
    else:
        yield nn


def is_plain_linear(layer: torch.nn.Module) -> bool:
    return type(layer) in _LINEAR and is_plain(layer)


def is_plain(module: torch.nn.Module) -> bool:
    """Whether a module does what its class says. Hooks (spectral norm, lazy
    initialisation, those of all modules) and a :obj:`forward` of its own may do anything: such a
    module is called as it is.
    """
    return 'forward' not in vars(module) and not (
        _has_any_global_hook()
        or module._forward_hooks
        or module._forward_pre_hooks
        or module._backward_hooks
        or module._backward_pre_hooks
    )


def only_sums(conv: MessagePassing, cls: type[MessagePassing]) -> bool:
    """Whether :obj:`propagate` of a layer does nothing but sum up the neighbours, if it does
    so in :obj:`cls`: nobody has a say in it, or looks on.
    """
    return (
        all(getattr(type(conv), name) is getattr(cls, name) for name in _STEPS)
        and type(conv.aggr_module) is SumAggregation
        and is_plain(conv.aggr_module)
        and conv.flow == 'source_to_target'
        and conv.decomposed_layers == 1
        and not conv.explain
        and not (conv._propagate_forward_pre_hooks or conv._propagate_forward_hooks)
        and not (conv._message_forward_pre_hooks or conv._message_forward_hooks)
        and not (conv._aggregate_forward_pre_hooks or conv._aggregate_forward_hooks)
        and not (conv._edge_update_forward_pre_hooks or conv._edge_update_forward_hooks)
    )
