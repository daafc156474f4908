"""Networks that embed graphs by their structure alone."""

import math
from typing import TypeAlias

import torch
from sklearn.cluster import DBSCAN
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.nn import GINConv, global_add_pool

from graphgym_nc.nn import NCGNNConv
from graphgym_nc.triangles.incidence import TriangleIncidence

#: The number of linear layers in MLP2, and how a node puts its messages together.
Communicate: TypeAlias = tuple[int, str]


class GraphEncoder(torch.nn.Module):
    r"""Stacks layers of GIN or NC-GNN on constant features, and sums the nodes.

    There is no normalisation, and :math:`\epsilon = \sqrt{2} - 1` is
    irrational, so that nothing keeps the layers from being injective.

    Args:
        channels: The width of all layers.
        num_layers: The number of layers.
        activation: The activation after every linear layer (but ReLU in the lean MLP2).
        out_channels: The size of the embedding, given by a last linear layer;
            :obj:`channels`, without such a layer, if not given.
        communicate: MLP2's number of linear layers, and how a node puts together what the edges
            among its neighbours say; :obj:`None` for GIN.
    """

    def __init__(
        self,
        channels: int = 32,
        num_layers: int = 6,
        activation: type[torch.nn.Module] = torch.nn.Tanh,
        out_channels: int | None = None,
        communicate: Communicate | None = (2, 'add'),
    ) -> None:
        super().__init__()
        self.channels = channels
        eps = math.sqrt(2) - 1
        self.convs = torch.nn.ModuleList()
        for _ in range(num_layers):
            nn = _mlp(channels, activation)
            if communicate is None:
                self.convs.append(GINConv(nn, eps))
            else:
                depth, aggr = communicate
                mlp2 = _mlp(channels, torch.nn.ReLU if depth == 1 else activation, depth)
                self.convs.append(NCGNNConv(nn, mlp2, eps, False, communicate_aggr=aggr))
        self.lin = (
            torch.nn.Identity()
            if out_channels is None
            else torch.nn.Linear(channels, out_channels)
        )

    def forward(self, data: Data) -> Tensor:
        """Embeds a batch of graphs, into shape :obj:`[num_graphs, channels]`.

        Args:
            data: The batch, which is given its triangles if it has none.
        """
        assert data.num_nodes is not None
        x = next(self.parameters()).new_ones(data.num_nodes, self.channels)
        for conv in self.convs:
            if isinstance(conv, NCGNNConv):
                if 'triangle_incidence' not in data:
                    data.triangle_incidence = TriangleIncidence.from_data(data)
                x = conv(x, data.edge_index, data.triangle_incidence)
            else:
                x = conv(x, data.edge_index)
        return self.lin(global_add_pool(x, data.batch))


def embedding_classes(embeddings: Tensor, tolerance: float = 1e-8) -> list[int]:
    """Sorts embeddings into classes: those closer than :obj:`tolerance` in all
    channels, directly or through others, are in one class.

    The default lies far from both sides of what happens in
    :meth:`~graphgym_nc.wl.networks.random_embeddings`: on the atlas and on BREC, rounding stays
    below :obj:`1e-11`, and different graphs are at least :obj:`1e-4` apart.
    """
    clusters = DBSCAN(eps=tolerance, min_samples=1, metric='chebyshev')
    return clusters.fit_predict(embeddings.numpy()).tolist()


def _mlp(channels: int, activation: type[torch.nn.Module], depth: int = 2) -> torch.nn.Sequential:
    layers = [(torch.nn.Linear(channels, channels), activation()) for _ in range(depth)]
    return torch.nn.Sequential(*(module for layer in layers for module in layer))
