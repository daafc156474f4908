"""EB-GNN on graphs without features."""

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.nn import global_add_pool

from graphgym_nc.nn.peers.eb_gnn import EBGNN, node_readout
from graphgym_nc.structures.edge_neighbourhoods import EdgeNeighbourhoods


class EBGNNEncoder(torch.nn.Module):
    """EB-GNN on constant features, without BatchNorm, and the sum of all edges.

    Args:
        channels: The width of all layers.
        num_layers: The number of layers.
        activation: The activation of all layers.
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
        self.edges = EBGNN(1, channels, num_layers, act=activation(), batch_norm=False)
        self.lin = (
            torch.nn.Identity()
            if out_channels is None
            else torch.nn.Linear(channels, out_channels)
        )

    def forward(self, data: Data) -> Tensor:
        """Embeds a batch of graphs, into shape :obj:`[num_graphs, channels]`."""
        if 'state_index' not in data:
            data = EdgeNeighbourhoods()(data)
        assert data.num_nodes is not None
        x = self.edges.isolated.new_ones(data.num_nodes, 1)
        h = self.edges(x, data.state_index, data.state_triangle_index)
        nodes = node_readout(h, data.state_index, data.num_nodes)
        return self.lin(global_add_pool(nodes, data.batch))
