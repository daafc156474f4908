"""What the networks on all pairs of nodes have in common."""

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.graphgym.config import cfg
from torch_geometric.graphgym.models.gnn import FeatureEncoder

from graphgym_nc.graphgym.peers.head import check_layers, check_task, of_split
from graphgym_nc.graphgym.validation import check_peers


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
        check_peers(cfg)
        check_task()
        check_layers()
        self.for_nodes = cfg.dataset.task == 'node'
        self.encoder = FeatureEncoder(dim_in)

    def forward(self, batch: Data) -> tuple[Tensor, Tensor]:
        batch = self.encoder(batch)
        number = getattr(batch, 'num_graphs', 1)
        score = self.model(batch.x, batch.edge_index, batch.get('batch'), number)
        return of_split(batch, score)
