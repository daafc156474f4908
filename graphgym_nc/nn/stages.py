"""Looks into a network, as far as it is made of torch's own layers."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, cast

import torch
import torch_geometric.nn
from torch import Tensor

_LINEAR = (torch.nn.Linear, torch_geometric.nn.Linear)


class Stage(NamedTuple):
    """A Linear layer and what follows it.

    Attributes:
        weight: The weight of the Linear layer.
        bias: Its bias.
        norm: The BatchNorm after it.
        relu: Whether a ReLU comes last.
    """

    weight: Tensor
    bias: Tensor | None
    norm: torch.nn.BatchNorm1d | None = None
    relu: bool = False

    @property
    def is_linear(self) -> bool:
        """Whether nothing follows."""
        return self.norm is None and not self.relu

    @property
    def width(self) -> int:
        return self.weight.size(0)

    @property
    def parameters(self) -> tuple[Tensor, Tensor | None, Tensor | None, Tensor | None]:
        """Weight and bias of the Linear layer, then of BatchNorm."""
        of_norm = (None, None) if self.norm is None else (self.norm.weight, self.norm.bias)
        return self.weight, self.bias, *of_norm

    def fits(self, width: int) -> bool:
        """Whether kernels can run it on rows of a width: in float32 throughout, with
        running statistics that lie side by side.
        """
        weight, *vectors = self.parameters
        if self.norm is not None:
            mean, var = self.norm.running_mean, self.norm.running_var
            vectors += mean, var
            if mean is None or var is None:
                if mean is not var:
                    return False
            elif not (mean.is_contiguous() and var.is_contiguous()):
                return False
        shape, exact = weight.shape[:1], torch.float32
        return (
            weight.size(1) == width
            and weight.dtype == exact
            and all(v is None or (v.dtype == exact and v.shape == shape) for v in vectors)
        )


def all_fit(stages: Sequence[Stage], width: int) -> bool:
    """Whether kernels can run all stages, one after the other."""
    widths = [width, *(stage.width for stage in stages)]
    return all(stage.fits(width) for stage, width in zip(stages, widths, strict=False))


def as_stages(layers: Sequence[torch.nn.Module]) -> list[Stage] | None:
    """A network as stages, each of a Linear layer and perhaps BatchNorm and
    ReLU; :obj:`None` if it is no such network.
    """
    stages: list[Stage] = []
    for layer in layers:
        if is_plain_linear(layer):
            stages.append(Stage(cast(Tensor, layer.weight), cast(Tensor | None, layer.bias)))
        elif not stages or not is_plain(layer):
            return None
        elif type(layer) is torch.nn.BatchNorm1d and stages[-1].is_linear:
            stages[-1] = stages[-1]._replace(norm=layer)
        elif type(layer) is torch.nn.ReLU and not stages[-1].relu:
            stages[-1] = stages[-1]._replace(relu=True)
        else:
            return None
    return stages or None


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
    initialisation) and a :obj:`forward` of its own may do anything: such a
    module is called as it is.
    """
    return 'forward' not in vars(module) and not (
        module._forward_hooks
        or module._forward_pre_hooks
        or module._backward_hooks
        or module._backward_pre_hooks
    )
