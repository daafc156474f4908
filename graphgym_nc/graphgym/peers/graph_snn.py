"""GraphSNN."""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.graphgym import register
from torch_geometric.graphgym.config import cfg
from torch_geometric.graphgym.models.layer import LayerConfig

from graphgym_nc.graphgym.layer import _EdgeLayer, _Layer
from graphgym_nc.graphgym.preparation import prepares
from graphgym_nc.graphgym.register import register_once
from graphgym_nc.graphgym.stage import OGBStackStage
from graphgym_nc.nn.peers import GraphSNNConv, GraphSNNEConv
from graphgym_nc.transforms import StructuralCoefficients


def _transform() -> StructuralCoefficients:
    return StructuralCoefficients(cfg.peers.graph_snn.power)


for _name in ('graph_snnconv', 'graph_snneconv'):
    prepares(_name, _transform)


@register_once(register.layer_dict, 'graph_snnconv')
class GraphSNNConvLayer(_Layer):
    """A layer of GraphSNN, with the MLP that its authors have for the data sets of TU: see
    :class:`graphgym_nc.nn.peers.GraphSNNConv`.
    """

    def __init__(self, layer_config: LayerConfig, **kwargs: Any) -> None:
        super().__init__()
        self.transform = _transform()
        self.model = GraphSNNConv(torch.nn.Sequential(*_tu_mlp(layer_config)))

    def update(self, batch: Data) -> Tensor:
        return self.model(batch.x, batch.edge_index, _coefficients(batch, self.transform))


@register_once(register.layer_dict, 'graph_snneconv')
class GraphSNNEConvLayer(_EdgeLayer):
    """A layer of GraphSNN with edge features, and with the MLP that its authors have for the
    data sets of OGB: see :class:`graphgym_nc.nn.peers.GraphSNNEConv`.
    """

    def __init__(self, layer_config: LayerConfig, **kwargs: Any) -> None:
        super().__init__(layer_config, GraphSNNEConv, _ogb_arguments)
        self.transform = _transform()

    def update(self, batch: Data) -> Tensor:
        weight, edge_attr = _coefficients(batch, self.transform), self.edge_attr(batch)
        return self.model(batch.x, batch.edge_index, weight, edge_attr)


@register_once(register.stage_dict, 'ogbsum')
class OGBSumStage(OGBStackStage):
    """A stack of layers whose outputs, and the input, are added up, with no activation after
    the last.

    Args:
        dim_in: The input dimension.
        dim_out: The output dimension of the stage and of every layer, which must be the same.
        num_layers: The number of layers.
    """

    def forward(self, batch: Data) -> Data:
        total = batch.x
        for layer in self.layers:
            batch = layer(batch)
            total = total + batch.x
        batch.x = total
        return batch


def _coefficients(batch: Data, transform: StructuralCoefficients) -> Tensor:
    """The weights of a batch's edges: those that came with it, or are found by the first layer
    that asks, and stay for all layers after it.
    """
    if batch.get('edge_coefficient') is None:
        batch.edge_coefficient = transform(batch).edge_coefficient
    return batch.edge_coefficient


def _tu_mlp(layer_config: LayerConfig) -> Iterable[torch.nn.Module]:
    """Two layers with Dropout, activation and BatchNorm, and a last one that is Linear. What
    comes after is GraphGym's activation, which Dropout may as well precede.
    """
    keys = cfg.peers.graph_snn
    width, dim_in = layer_config.dim_out, layer_config.dim_in
    for fan_in in (dim_in, width):
        yield torch.nn.Linear(fan_in, width)
        yield torch.nn.Dropout(keys.mlp_dropout)
        yield register.act_dict[layer_config.act]()
        yield _batch_norm(layer_config)
    yield torch.nn.Linear(width, width)
    yield torch.nn.Dropout(keys.dropout)


def _ogb_arguments(layer_config: LayerConfig) -> dict[str, Any]:
    width = layer_config.dim_out
    modules = [
        torch.nn.Linear(layer_config.dim_in, width),
        _batch_norm(layer_config),
        register.act_dict[layer_config.act](),
        torch.nn.Linear(width, width),
    ]
    return {'nn': torch.nn.Sequential(*modules)}


def _batch_norm(layer_config: LayerConfig) -> torch.nn.BatchNorm1d:
    return torch.nn.BatchNorm1d(
        layer_config.dim_out, eps=layer_config.bn_eps, momentum=layer_config.bn_mom
    )
