"""1-2-3-GNN without features."""

import torch
from torch import Tensor
from torch_geometric.data import Batch

from graphgym_nc.nn.peers import K123GNN
from graphgym_nc.structures.sets import AddSets, Sets
from graphgym_nc.wl.peers.parts import in_parts


class SetEncoder(torch.nn.Module):
    """A 1-2-3-GNN on constant features, with sums in place of its means: these would not tell
    how many neighbours there are.

    Args:
        channels: The width of all layers.
        num_layers: The number of layers for nodes, for pairs and for triples.
        activation: The activation.
        out_channels: The size of the embedding, given by a last linear layer, if at all.
        aggr: How neighbours are put together, and sets are pooled.
    """

    def __init__(
        self,
        channels: int = 32,
        num_layers: int = 6,
        activation: type[torch.nn.Module] = torch.nn.Tanh,
        out_channels: int | None = None,
        aggr: str = 'add',
    ) -> None:
        super().__init__()
        self.transform = AddSets()
        self.channels = channels
        self.model = K123GNN(
            channels, channels, 1, (num_layers, num_layers), aggr=aggr, pool=aggr, act=activation()
        )
        self.model.mlp.lins = torch.nn.ModuleList()  # only its activation is of use
        self.lin = (
            torch.nn.Identity()
            if out_channels is None
            else torch.nn.Linear(3 * channels, out_channels)
        )

    def forward(self, data: Batch) -> Tensor:
        """Embeds a batch of graphs, without regard to features."""
        parts = in_parts(data, self.transform, lambda graph: graph.triple_edge_index.size(1))
        return torch.cat([self._embed(part) for part in parts])

    def _embed(self, data: Batch) -> Tensor:
        x = next(self.parameters()).new_ones(data.num_nodes, self.channels)
        sets = [Sets.of(data, name) for name in ('pair', 'triple')]
        return self.lin(self.model.pooled(x, data.edge_index, sets, data.batch, data.num_graphs))
