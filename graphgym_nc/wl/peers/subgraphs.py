"""Networks that embed graphs by the rooted subgraphs of their nodes."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.nn import MLP, GINConv, global_add_pool

from graphgym_nc.nn.peers import GINAKConv, NestedGNN
from graphgym_nc.structures.subgraphs import EgoNets, Subgraphs


class NestedEncoder(torch.nn.Module):
    """NGNN on constant features, with sums of nodes and of subgraphs, as it is trained on BREC.

    Args:
        channels: The width of all layers.
        num_layers: The number of layers.
        activation: The activation after every linear layer.
        out_channels: The size of the embedding, given by a last linear layer; that of all layers
            together, without such a layer, if not given.
        hops: The number of hops of the subgraphs.
        labels: The labels of nodes within a subgraph.
    """

    def __init__(
        self,
        channels: int = 16,
        num_layers: int = 6,
        activation: type[torch.nn.Module] = torch.nn.Tanh,
        out_channels: int | None = None,
        hops: int = 1,
        labels: str = 'none',
    ) -> None:
        super().__init__()

        def gin(dim_in: int, dim_out: int) -> GINConv:
            mlp = MLP([dim_in, dim_out, dim_out], act=activation(), norm=None, plain_last=False)
            return GINConv(mlp, math.sqrt(2) - 1)

        self.transform, self.channels = EgoNets(hops), channels
        self.gnn = NestedGNN(
            channels, channels, num_layers, gin, labels, hops, label_channels=channels,
            pooling='sum',
        )  # fmt: skip
        self.lin = _last(self.gnn.out_channels, out_channels)

    def forward(self, data: Data) -> Tensor:
        """Embeds a batch of graphs, into shape :obj:`[num_graphs, out_channels]`."""
        x = _constant(self, data, self.channels)
        x = self.gnn(x, _subgraphs(data, self.transform))
        return self.lin(global_add_pool(x, data.batch))


class AKEncoder(torch.nn.Module):
    """GIN-AK or GIN-AK+ on constant features, without residual connections.

    Args:
        channels: The width of all layers.
        num_layers: The number of layers.
        activation: The activation after every linear layer.
        out_channels: The size of the embedding, given by a last linear layer;
            :obj:`channels`, without such a layer, if not given.
        hops: The number of hops of the subgraphs.
        inner_layers: The number of layers on subgraphs, within each layer.
        **options: Arguments of :class:`~graphgym_nc.nn.peers.GINAKConv`.
    """

    def __init__(
        self,
        channels: int = 32,
        num_layers: int = 4,
        activation: Callable[[], torch.nn.Module] = torch.nn.Tanh,
        out_channels: int | None = None,
        hops: int = 1,
        inner_layers: int = 2,
        **options: Any,
    ) -> None:
        super().__init__()
        self.transform, self.channels, self.act = EgoNets(hops), channels, activation()
        self.convs = torch.nn.ModuleList(
            GINAKConv(
                channels, channels, num_layers=inner_layers, norm=None, act=activation(), **options
            )
            for _ in range(num_layers)
        )
        self.lin = _last(channels, out_channels)

    def forward(self, data: Data) -> Tensor:
        """Embeds a batch of graphs, into shape :obj:`[num_graphs, out_channels]`."""
        x, subgraphs = _constant(self, data, self.channels), _subgraphs(data, self.transform)
        for conv in self.convs:
            x = self.act(conv(x, data.edge_index, subgraphs))
        return self.lin(global_add_pool(x, data.batch))


def _constant(network: torch.nn.Module, data: Data, channels: int) -> Tensor:
    return next(network.parameters()).new_ones(int(data.num_nodes or 0), channels)


def _subgraphs(data: Data, transform: EgoNets) -> Subgraphs:
    """The subgraphs of a batch, found once."""
    found = data.get('subgraphs', {})
    if str(transform) not in found:
        data.subgraphs = found = {str(transform): Subgraphs.of(transform(data))}
    return found[str(transform)]


def _last(channels: int, out_channels: int | None) -> torch.nn.Module:
    if out_channels is None:
        return torch.nn.Identity()
    return torch.nn.Linear(channels, out_channels)
