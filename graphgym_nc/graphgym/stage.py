"""Stages of GraphGym's network that it lacks."""

import torch
from torch_geometric.data import Data
from torch_geometric.graphgym import register
from torch_geometric.graphgym.config import cfg
from torch_geometric.graphgym.models.gnn import GNNLayer

from graphgym_nc.graphgym.register import register_once


@register_once(register.stage_dict, 'jkconcat')
class JumpingKnowledgeStage(torch.nn.Module):
    """A stack of layers whose outputs, and the input, are concatenated and
    projected back to the inner dimension (jumping knowledge).

    Args:
        dim_in: The input dimension.
        dim_out: The output dimension of the stage and of every layer.
        num_layers: The number of layers.
    """

    def __init__(self, dim_in: int, dim_out: int, num_layers: int) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList(
            GNNLayer(dim_in if i == 0 else dim_out, dim_out) for i in range(num_layers)
        )
        self.project = torch.nn.Linear(dim_in + num_layers * dim_out, dim_out)
        self.act = register.act_dict[cfg.gnn.act]()

    def forward(self, batch: Data) -> Data:
        outputs = [batch.x]
        for layer in self.layers:
            batch = layer(batch)
            outputs.append(batch.x)
        batch.x = self.act(self.project(torch.cat(outputs, dim=-1)))
        if cfg.gnn.l2norm:
            batch.x = torch.nn.functional.normalize(batch.x, dim=-1)
        return batch


@register_once(register.stage_dict, 'ogbstack')
class OGBStackStage(torch.nn.Module):
    """A stack of layers, with no activation after the last, as in OGB's
    examples.

    Args:
        dim_in: The input dimension.
        dim_out: The output dimension of the stage and of every layer.
        num_layers: The number of layers.
    """

    def __init__(self, dim_in: int, dim_out: int, num_layers: int) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList(
            GNNLayer(dim_in if i == 0 else dim_out, dim_out, has_act=i < num_layers - 1)
            for i in range(num_layers)
        )

    def forward(self, batch: Data) -> Data:
        for layer in self.layers:
            batch = layer(batch)
        if cfg.gnn.l2norm:
            batch.x = torch.nn.functional.normalize(batch.x, dim=-1)
        return batch
