"""SIN and CIN without features."""

import math

import torch
from torch import Tensor
from torch_geometric.data import Batch

from graphgym_nc.nn.peers import CIN
from graphgym_nc.structures.cells import AddCells, Cells
from graphgym_nc.wl.peers.parts import in_parts


class CellEncoder(torch.nn.Module):
    """Stacks layers of SIN or CIN on constant features, and sums the cells of each dimension.

    Args:
        max_ring: The largest number of nodes of a ring; 3 for SIN.
        channels: The width of all layers.
        num_layers: The number of layers.
        activation: The activation.
        out_channels: The size of the embedding, given by a last linear layer, if at all.
        coboundaries: Whether messages say through which cell they come.
    """

    def __init__(
        self,
        max_ring: int,
        channels: int = 32,
        num_layers: int = 6,
        activation: type[torch.nn.Module] = torch.nn.Tanh,
        out_channels: int | None = None,
        coboundaries: bool = True,
    ) -> None:
        super().__init__()
        self.transform = AddCells(max_ring)
        self.channels = channels
        self.model = CIN(
            channels, channels, num_layers, out_channels=1, coboundaries=coboundaries,
            act=activation(), norm=None, eps=math.sqrt(2) - 1,
        )  # fmt: skip
        self.model.lins, self.model.lin = torch.nn.ModuleList(), torch.nn.Identity()
        self.lin = (
            torch.nn.Identity()
            if out_channels is None
            else torch.nn.Linear(3 * num_layers * channels, out_channels)
        )

    def forward(self, data: Batch) -> Tensor:
        """Embeds a batch of graphs, without regard to features."""
        parts = in_parts(data, self.transform, lambda graph: graph.ring_edge.numel())
        return torch.cat([self._embed(part) for part in parts])

    def _embed(self, data: Batch) -> Tensor:
        x = next(self.parameters()).new_ones(data.num_nodes, self.channels)
        pooled = self.model.pooled(x, Cells.of(data), data.batch, data.num_graphs)
        return self.lin(torch.cat(pooled, dim=-1))
