"""GraphSNN on graphs without features."""

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.nn import global_add_pool

from graphgym_nc.nn.peers import GraphSNNConv
from graphgym_nc.structures.structural_coefficients import structural_coefficients


class GraphSNNEncoder(torch.nn.Module):
    """Stacks layers of GraphSNN on constant features, and sums the nodes.

    Args:
        channels: The width of all layers.
        num_layers: The number of layers.
        activation: The activation after every linear layer.
        out_channels: The size of the embedding, given by a last linear layer; :obj:`channels`,
            without such a layer, if not given.
    """

    def __init__(
        self,
        channels: int = 32,
        num_layers: int = 6,
        activation: type[torch.nn.Module] = torch.nn.Tanh,
        out_channels: int | None = None,
    ) -> None:
        super().__init__()
        self.channels = channels
        self.convs = torch.nn.ModuleList(
            GraphSNNConv(_mlp(channels, activation)) for _ in range(num_layers)
        )
        self.lin = (
            torch.nn.Identity()
            if out_channels is None
            else torch.nn.Linear(channels, out_channels)
        )

    def forward(self, data: Data) -> Tensor:
        """Embeds a batch of graphs, into shape :obj:`[num_graphs, channels]`."""
        assert data.edge_index is not None
        assert data.num_nodes is not None
        x = next(self.parameters()).new_ones(data.num_nodes, self.channels)
        weight = structural_coefficients(data.edge_index, data.num_nodes)
        for conv in self.convs:
            x = conv(x, data.edge_index, weight)
        return self.lin(global_add_pool(x, data.batch))


def _mlp(channels: int, activation: type[torch.nn.Module]) -> torch.nn.Sequential:
    layers = [(torch.nn.Linear(channels, channels), activation()) for _ in range(2)]
    return torch.nn.Sequential(*(module for layer in layers for module in layer))
