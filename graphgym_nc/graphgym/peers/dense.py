"""What the networks on all pairs of nodes have in common."""

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.graphgym.config import cfg
from torch_geometric.graphgym.models.gnn import FeatureEncoder

from graphgym_nc.graphgym.validation import ConfigError


class DenseNetwork(torch.nn.Module):
    """Encodes node features, and scores graphs or nodes by a model on all pairs of nodes.

    Args:
        dim_in: The input dimension.

    Attributes:
        model: The model.
        for_nodes: Whether it scores nodes.
    """

    model: torch.nn.Module

    def __init__(self, dim_in: int) -> None:
        super().__init__()
        if cfg.dataset.task not in ('graph', 'node'):
            raise ConfigError(
                f"'model.type: {cfg.model.type}' scores graphs or nodes, but 'dataset.task' is "
                f"'{cfg.dataset.task}'"
            )
        self.for_nodes = cfg.dataset.task == 'node'
        self.encoder = FeatureEncoder(dim_in)

    def forward(self, batch: Data) -> tuple[Tensor, Tensor]:
        batch = self.encoder(batch)
        number = getattr(batch, 'num_graphs', 1)
        score = self.model(batch.x, batch.edge_index, batch.get('batch'), number)
        mask = batch.get(f'{batch.get("split")}_mask') if self.for_nodes else None
        return (score, batch.y) if mask is None else (score[mask], batch.y[mask])
