"""EB-GNN."""

from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.graphgym import register
from torch_geometric.graphgym.config import cfg
from torch_geometric.graphgym.models.gnn import FeatureEncoder

from graphgym_nc.graphgym.init import init_weights
from graphgym_nc.graphgym.preparation import prepares
from graphgym_nc.graphgym.register import register_once
from graphgym_nc.graphgym.validation import ConfigError
from graphgym_nc.nn.peers.eb_gnn import EBGNN, node_readout
from graphgym_nc.transforms import EdgeNeighbourhoods

prepares('eb_gnn', EdgeNeighbourhoods)


@register_once(register.network_dict, 'eb_gnn')
class EBGNNNetwork(torch.nn.Module):
    """EB-GNN, between an encoder and one of GraphGym's heads: see
    :class:`graphgym_nc.nn.peers.EBGNN`.

    A node is given half of the states of its edges, in both directions. So a head that adds up
    nodes adds up edges. It has :obj:`gnn.layers_mp` layers. Edge features are read if there is
    an encoder for them.

    Args:
        dim_in: The input dimension.
        dim_out: The number of scores.
    """

    def __init__(self, dim_in: int, dim_out: int, **kwargs: Any) -> None:
        super().__init__()
        if cfg.gnn.layers_pre_mp > 0:
            raise ConfigError(
                f"'gnn.layers_pre_mp' is {cfg.gnn.layers_pre_mp}, but 'model.type: eb_gnn' has no "
                f"such layers: set it to 0, or take 'dataset.node_encoder: True'"
            )
        width = cfg.gnn.dim_inner
        self.encoder = FeatureEncoder(dim_in)
        self.edges = EBGNN(
            self.encoder.dim_in,
            width,
            cfg.gnn.layers_mp,
            edge_dim=width if cfg.dataset.edge_encoder else None,
            act=register.act_dict[cfg.gnn.act](),
            dropout=cfg.gnn.dropout,
            residual=cfg.peers.eb_gnn.residual,
            jk=cfg.peers.eb_gnn.jk,
            batch_norm=cfg.gnn.batchnorm,
        )
        self.head = register.head_dict[cfg.gnn.head](dim_in=width, dim_out=dim_out)
        self.apply(init_weights)

    def forward(self, batch: Data) -> tuple[Tensor, Tensor]:
        if batch.get('state_index') is None:
            batch = EdgeNeighbourhoods()(batch)
        batch = self.encoder(batch)
        ends = batch.state_index
        edges = (batch.edge_attr, batch.edge_index, batch.get('edge_state'))
        h = self.edges(
            batch.x, ends, batch.state_triangle_index,
            *(edges if self.edges.lin_edge is not None else ()),
        )  # fmt: skip
        batch.x = node_readout(h, ends, batch.x.size(0))
        return self.head(batch)
