"""SIN and CIN, as GraphGym knows them."""

from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.graphgym import register
from torch_geometric.graphgym.config import cfg
from torch_geometric.graphgym.models.gnn import FeatureEncoder

from graphgym_nc.graphgym.peers.head import check_layers, check_task, of_split
from graphgym_nc.graphgym.preparation import prepared, prepares
from graphgym_nc.graphgym.register import register_once
from graphgym_nc.graphgym.validation import ConfigError, check_choice, check_peers
from graphgym_nc.nn.peers import CIN
from graphgym_nc.structures.cells import AddCells, Cells, edge_features


class _CellNetwork(torch.nn.Module):
    """Scores a graph by its nodes, edges and rings, or a node: see
    :class:`graphgym_nc.nn.peers.CIN`.

    Args:
        dim_in: The input dimension.
        dim_out: The number of scores.
    """

    def __init__(self, dim_in: int, dim_out: int, **kwargs: Any) -> None:
        super().__init__()
        check_peers(cfg)
        check_task()
        check_layers()
        of_nodes = cfg.dataset.task == 'node'
        check_choice('model.graph_pooling', cfg.model.graph_pooling, ('add', 'max', 'mean'))
        if of_nodes and not cfg.peers.cin.coboundaries:
            raise ConfigError(
                "'peers.cin.coboundaries' is False, but 'dataset.task' is 'node': nodes would "
                "know nothing of edges and rings; set 'peers.cin.coboundaries: True'"
            )
        self.encoder, self.transform = FeatureEncoder(dim_in), _transform()
        edge_dim = cfg.gnn.dim_inner if cfg.dataset.edge_encoder else cfg.dataset.edge_dim
        self.model = CIN(
            self.encoder.dim_in,
            cfg.gnn.dim_inner,
            cfg.gnn.layers_mp,
            dim_out,
            init=cfg.peers.cin.init,
            coboundaries=cfg.peers.cin.coboundaries,
            edge_dim=edge_dim if cfg.peers.cin.edge_features else None,
            pool=None if of_nodes else cfg.model.graph_pooling,
            dropout=cfg.gnn.dropout,
            act=register.act_dict[cfg.gnn.act](),
            norm='batch_norm' if cfg.gnn.batchnorm else None,
        )

    def forward(self, batch: Data) -> tuple[Tensor, Tensor]:
        batch = self.encoder(batch)
        batch = prepared(batch, 'ring_size', self.transform)
        edge_attr = None if self.model.edge_lin is None else _edge_features(batch)
        number = getattr(batch, 'num_graphs', 1)
        score = self.model(batch.x, Cells.of(batch), batch.batch, number, edge_attr)
        return of_split(batch, score)


def _edge_features(batch: Data) -> Tensor:
    if batch.get('edge_attr') is None:
        raise ConfigError(
            f"'peers.cin.edge_features' is True, but '{cfg.dataset.name}' has none: set "
            "'peers.cin.edge_features: False'"
        )
    return edge_features(batch, batch.edge_attr.to(batch.x.dtype))


def _transform() -> AddCells:
    return AddCells(cfg.peers.cin.max_ring if cfg.model.type == 'cin' else 3)


for _name in ('sin', 'cin'):
    register_once(register.network_dict, _name)(_CellNetwork)
    prepares(_name, _transform)
