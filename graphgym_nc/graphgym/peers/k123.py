"""1-2-3-GNN, as GraphGym knows it."""

from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.graphgym import register
from torch_geometric.graphgym.config import cfg
from torch_geometric.graphgym.models.gnn import FeatureEncoder

from graphgym_nc.graphgym.preparation import prepared, prepares
from graphgym_nc.graphgym.register import register_once
from graphgym_nc.graphgym.validation import ConfigError, check_choice, check_peers
from graphgym_nc.nn.peers import K123GNN
from graphgym_nc.structures.sets import AddSets, Sets


@register_once(register.network_dict, 'k123')
class K123Network(torch.nn.Module):
    """Scores a graph by its nodes, pairs and triples: see
    :class:`graphgym_nc.nn.peers.K123GNN`.

    Args:
        dim_in: The input dimension.
        dim_out: The number of scores.
    """

    def __init__(self, dim_in: int, dim_out: int, **kwargs: Any) -> None:
        super().__init__()
        check_peers(cfg)
        if cfg.dataset.task != 'graph':
            raise ConfigError(
                f"'dataset.task' is '{cfg.dataset.task}', but 'model.type: k123' is for graphs: "
                'nodes learn nothing of the pairs and triples they are in'
            )
        check_choice('model.graph_pooling', cfg.model.graph_pooling, ('add', 'max', 'mean'))
        self.encoder, self.transform = FeatureEncoder(dim_in), _transform()
        self.model = K123GNN(
            self.encoder.dim_in,
            cfg.gnn.dim_inner,
            dim_out,
            (cfg.gnn.layers_mp, cfg.peers.k123.layers_sets),
            num_labels=dim_in if cfg.peers.k123.labels else 1,
            aggr=cfg.gnn.agg,
            pool=cfg.model.graph_pooling,
            dropout=cfg.gnn.dropout,
            act=register.act_dict[cfg.gnn.act](),
        )

    def forward(self, batch: Data) -> tuple[Tensor, Tensor]:
        batch = prepared(batch, 'pair_type', self.transform)
        batch = self.encoder(batch)
        sets = [Sets.of(batch, name) for name in ('pair', 'triple')]
        number = getattr(batch, 'num_graphs', 1)
        return self.model(batch.x, batch.edge_index, sets, batch.batch, number), batch.y


def _transform() -> AddSets:
    return AddSets(cfg.peers.k123.labels)


prepares('k123', _transform)
