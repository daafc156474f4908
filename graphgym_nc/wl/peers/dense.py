"""Networks on all pairs of nodes: PPGN and RingGNN."""

import torch
from torch import Tensor
from torch_geometric.data import Data

from graphgym_nc.nn.peers import PPGN, RingGNN


class RoundedSine(torch.nn.Module):
    r"""The sine, rounded to ten binary digits.

    A sum over a node in the middle has as many terms as there are nodes. Through many such
    layers, smooth activations either let rounding errors grow, or squash what differs. Here,
    errors vanish in every layer: products of such values, and sums of some hundred of them, are
    exact in double precision. And nothing is squashed.
    """

    def forward(self, x: Tensor) -> Tensor:
        return (x.sin() * 1024).round() / 1024


class DenseEncoder(torch.nn.Module):
    """Embeds a batch of graphs without features by a model on all pairs of nodes.

    Args:
        model: The model, of one node feature.
    """

    def __init__(self, model: PPGN | RingGNN) -> None:
        super().__init__()
        self.model = model

    def forward(self, data: Data) -> Tensor:
        """Embeds a batch of graphs, into shape :obj:`[num_graphs, out_channels]`.

        Args:
            data: The batch.
        """
        assert data.num_nodes is not None
        x = next(self.parameters()).new_ones(data.num_nodes, 1)
        return self.model(x, data.edge_index, data.batch, data.num_graphs)


def ppgn(
    channels: int = 16,
    num_layers: int = 8,
    activation: type[torch.nn.Module] = RoundedSine,
    out_channels: int | None = None,
) -> DenseEncoder:
    """PPGN as BREC's authors have it, of MLPs of one layer, summed over all pairs."""
    size = out_channels or channels
    model = PPGN(1, channels, size, num_layers, mlp_depth=1, readout='sum', act=activation())
    return DenseEncoder(model)


def ring_gnn(
    channels: int = 16,
    num_layers: int = 8,
    activation: type[torch.nn.Module] = RoundedSine,
    out_channels: int | None = None,
) -> DenseEncoder:
    """RingGNN with a linear readout: an MLP would squash its large sums."""
    size = out_channels or channels
    model = RingGNN(1, channels, size, num_layers, readout_channels=[])
    model.act = activation()
    return DenseEncoder(model)
