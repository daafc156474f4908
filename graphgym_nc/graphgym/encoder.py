"""Feature encoders that GraphGym lacks."""

import torch
from torch_geometric.data import Data
from torch_geometric.graphgym import register
from torch_geometric.graphgym.config import cfg

from graphgym_nc.graphgym.register import register_once


@register_once(register.node_encoder_dict, 'LinearNode')
class LinearNodeEncoder(torch.nn.Module):
    """A linear map of the node features, with nothing after it."""

    def __init__(self, emb_dim: int) -> None:
        super().__init__()
        self.encoder = torch.nn.Linear(cfg.share.dim_in, emb_dim)

    def forward(self, batch: Data) -> Data:
        batch.x = self.encoder(batch.x)
        return batch


@register_once(register.node_encoder_dict, 'OneHotNode')
class OneHotNodeEncoder(torch.nn.Module):
    """A learned vector for each kind of node, where features are one-hot."""

    def __init__(self, emb_dim: int) -> None:
        super().__init__()
        self.encoder = torch.nn.Embedding(cfg.share.dim_in, emb_dim)

    def forward(self, batch: Data) -> Data:
        batch.x = batch.x @ self.encoder.weight
        return batch


@register_once(register.node_encoder_dict, 'PPANode')
class PPANodeEncoder(torch.nn.Module):
    """The same learned vector for every node, for graphs whose nodes have no
    features, such as those of ogbg-ppa.
    """

    def __init__(self, emb_dim: int) -> None:
        super().__init__()
        self.encoder = torch.nn.Embedding(1, emb_dim)

    def forward(self, batch: Data) -> Data:
        index = batch.edge_index.new_zeros(batch.num_nodes)
        batch.x = self.encoder(index)
        return batch
