"""KP-GIN, as a network that embeds graphs by their structure alone."""

import math

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.nn import global_add_pool

from graphgym_nc.nn.peers import KPGIN
from graphgym_nc.structures.hops import Hops, KHops
from graphgym_nc.structures.peripheral import Peripheral


class KPGINEncoder(torch.nn.Module):
    r"""KP-GIN on constant features, whose nodes are summed, without any normalisation.

    The limits on what is told are those of BREC's authors; :math:`\epsilon = \sqrt{2} - 1`
    is irrational, so that nothing keeps the layers from being injective.

    Args:
        channels: The width of all layers.
        num_layers: The number of layers.
        activation: The activation.
        out_channels: The size of the embedding, given by a last linear layer;
            :obj:`channels`, without such a layer, if not given.
        hops: The number of hops.
        peripheral: Whether peripheral subgraphs are told.
    """

    def __init__(
        self,
        channels: int = 32,
        num_layers: int = 6,
        activation: type[torch.nn.Module] = torch.nn.Tanh,
        out_channels: int | None = None,
        hops: int = 8,
        peripheral: bool = True,
    ) -> None:
        super().__init__()
        limits = Peripheral(types=1, edges=1000, levels=4, pairs=1000) if peripheral else None
        self.hops = KHops(hops, peripheral=limits)
        eps, act = math.sqrt(2) - 1, activation()
        self.model = KPGIN(1, channels, num_layers, self.hops, norm=False, eps=eps, act=act)
        self.lin = (
            torch.nn.Identity()
            if out_channels is None
            else torch.nn.Linear(channels, out_channels)
        )

    def forward(self, data: Data) -> Tensor:
        """Embeds a batch of graphs, into shape :obj:`[num_graphs, channels]`.

        Args:
            data: The batch, which is given its neighbours at all hops, and keeps them.
        """
        if data.get('hops_of') != str(self.hops):
            data = self.hops.forward(data)  # of the batch itself, not of a copy
            data.hops_of = str(self.hops)
        assert data.num_nodes is not None
        x = next(self.parameters()).new_ones(data.num_nodes, 1)
        x = self.model(x, Hops.of(data, self.hops))
        return self.lin(global_add_pool(x, data.batch))
