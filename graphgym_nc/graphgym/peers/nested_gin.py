"""Nested GNNs, as GraphGym knows them."""

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.graphgym import register
from torch_geometric.graphgym.config import cfg
from torch_geometric.graphgym.models.gnn import FeatureEncoder, GNNPreMP
from torch_geometric.graphgym.models.layer import GeneralLayer, new_layer_config
from torch_geometric.nn import MLP

from graphgym_nc.graphgym.init import init_weights
from graphgym_nc.graphgym.peers.head import check_task, predict
from graphgym_nc.graphgym.preparation import is_prepared, prepared, prepares
from graphgym_nc.graphgym.register import register_once
from graphgym_nc.graphgym.validation import ConfigError
from graphgym_nc.nn.peers import NestedGNN
from graphgym_nc.structures.subgraphs import EgoNets, Subgraphs


def _transform() -> EgoNets:
    return EgoNets(cfg.peers.nested_gin.hops)


prepares('nested_gin', _transform)


@register_once(register.network_dict, 'nested_gin')
class NestedGNNNetwork(torch.nn.Module):
    """Layers of :obj:`gnn.layer_type` on the rooted subgraph of every node: see
    :class:`graphgym_nc.nn.peers.NestedGNN`. What :obj:`gnn.layers_post_mp` Linear layers make of
    that scores nodes or, pooled, graphs. :obj:`gnn.dropout` acts between them, and nowhere else.

    Args:
        dim_in: The input dimension.
        dim_out: The number of scores.
    """

    def __init__(self, dim_in: int, dim_out: int, **kwargs: Any) -> None:
        super().__init__()
        check_task()
        if is_prepared(cfg.gnn.layer_type):
            raise ConfigError(
                f"'gnn.layer_type: {cfg.gnn.layer_type}' needs to know more of a subgraph than "
                f"its edges: take another layer with 'model.type: nested_gin'"
            )
        width, options = cfg.gnn.dim_inner, cfg.peers.nested_gin
        self.encoder, self.transform = FeatureEncoder(dim_in), _transform()
        self.pre_mp = torch.nn.Identity()
        dim_in = self.encoder.dim_in
        if cfg.gnn.layers_pre_mp > 0:
            self.pre_mp, dim_in = GNNPreMP(dim_in, width, cfg.gnn.layers_pre_mp), width
        self.gnn = NestedGNN(
            dim_in, width, cfg.gnn.layers_mp, _SubgraphLayer, options.labels, options.hops,
            options.label_dim,
        )  # fmt: skip
        self.classifier = MLP(
            [self.gnn.out_channels, *[width] * (cfg.gnn.layers_post_mp - 1), dim_out],
            dropout=cfg.gnn.dropout,
            act=register.act_dict[cfg.gnn.act](),
            norm=None,
        )
        self.apply(init_weights)

    def forward(self, batch: Data) -> tuple[Tensor, Tensor]:
        batch = self.pre_mp(self.encoder(batch))
        batch = prepared(batch, 'sub_index', self.transform)
        x = self.gnn(batch.x, Subgraphs.of(batch), batch.get('edge_attr'))
        return predict(batch, x, self.classifier)


class _SubgraphLayer(torch.nn.Module):
    """A layer of GraphGym's, on tensors."""

    def __init__(self, dim_in: int, dim_out: int) -> None:
        super().__init__()
        config = new_layer_config(dim_in, dim_out, 1, has_act=True, has_bias=False, cfg=cfg)
        self.layer = GeneralLayer(cfg.gnn.layer_type, replace(config, dropout=0.0))

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None = None) -> Tensor:
        return self.layer(Data(x, edge_index, edge_attr)).x
