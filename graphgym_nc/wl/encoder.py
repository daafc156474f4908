"""Networks that embed graphs by their structure alone."""

import math
from collections.abc import Sequence
from typing import Literal, TypeAlias

import torch
from sklearn.cluster import DBSCAN
from torch import Tensor
from torch_geometric.data import Batch, Data
from torch_geometric.nn import GINConv, global_add_pool

from graphgym_nc.nn import NCGNNConv
from graphgym_nc.triangles.incidence import TriangleIncidence
from graphgym_nc.wl.graphs import GraphLike, to_data

Model: TypeAlias = Literal['gin', 'nc-gnn', 'nc-gnn-lean', 'nc-gnn-mean']

MODELS: tuple[Model, ...] = ('gin', 'nc-gnn', 'nc-gnn-lean', 'nc-gnn-mean')

# The number of linear layers in MLP2, and how a node puts its messages together.
_COMMUNICATE = {'nc-gnn': (2, 'add'), 'nc-gnn-lean': (1, 'sqrt'), 'nc-gnn-mean': (2, 'mean')}


class GraphEncoder(torch.nn.Module):
    r"""Stacks layers of GIN or NC-GNN on constant features, and sums the nodes.

    There is no normalisation, and :math:`\epsilon = \sqrt{2} - 1` is
    irrational, so that nothing keeps the layers from being injective.

    Args:
        model: :obj:`'gin'`, :obj:`'nc-gnn'`, or one of its variants: the lean layer, with the
            square root, and the mean over the edges among neighbours.
        channels: The width of all layers.
        num_layers: The number of layers.
        activation: The activation after every linear layer (but ReLU in the lean MLP2).
        out_channels: The size of the embedding, given by a last linear layer;
            :obj:`channels`, without such a layer, if not given.
    """

    def __init__(
        self,
        model: Model,
        channels: int = 32,
        num_layers: int = 6,
        activation: type[torch.nn.Module] = torch.nn.Tanh,
        out_channels: int | None = None,
    ) -> None:
        super().__init__()
        if model not in MODELS:
            raise ValueError(
                f"unknown model '{model}' (allowed are {', '.join(map(repr, MODELS))})"
            )
        self.channels = channels
        eps = math.sqrt(2) - 1
        self.convs = torch.nn.ModuleList()
        for _ in range(num_layers):
            nn = _mlp(channels, activation)
            if model == 'gin':
                self.convs.append(GINConv(nn, eps))
            else:
                depth, aggr = _COMMUNICATE[model]
                mlp2 = _mlp(channels, torch.nn.ReLU if depth == 1 else activation, depth)
                self.convs.append(NCGNNConv(nn, mlp2, eps, False, communicate_aggr=aggr))
        self.lin = (
            torch.nn.Identity()
            if out_channels is None
            else torch.nn.Linear(channels, out_channels)
        )

    def forward(self, data: Data, incidence: TriangleIncidence | None = None) -> Tensor:
        """Embeds a batch of graphs, into shape :obj:`[num_graphs, channels]`.

        Args:
            data: The batch.
            incidence: Its triangles; found here if not given.
        """
        assert data.num_nodes is not None
        x = next(self.parameters()).new_ones(data.num_nodes, self.channels)
        incidence = TriangleIncidence.from_data(data) if incidence is None else incidence
        for conv in self.convs:
            if isinstance(conv, NCGNNConv):
                x = conv(x, data.edge_index, incidence)
            else:
                x = conv(x, data.edge_index)
        return self.lin(global_add_pool(x, data.batch))


def random_embeddings(graphs: Sequence[GraphLike], model: Model, seed: int = 0) -> Tensor:
    r"""Embeds graphs by a network of random weights, in double precision.

    By Theorem 3 of the paper, an NC-GNN can part exactly the graphs that
    NC-1-WL parts, and a GIN those that 1-WL parts. Analytic networks with
    random weights do so almost surely: graphs that the algorithm does not part
    get the same embedding up to rounding, and all others do not.

    Args:
        graphs: The graphs, without regard to their features.
        model: One of :obj:`MODELS`.
        seed: Determines the weights.

    Returns:
        The embeddings, of shape :obj:`[num_graphs, channels]`.
    """
    encoder = GraphEncoder(model).double()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        # Large enough for differences between graphs not to vanish from layer
        # to layer, and bounded by the tanh, so that rounding does not grow.
        for parameter in encoder.parameters():
            std = 1.5 * parameter.size(-1) ** -0.5 if parameter.dim() == 2 else 1.0
            parameter.normal_(std=std, generator=generator)
        return encoder(Batch.from_data_list([to_data(graph) for graph in graphs]))


def embedding_classes(embeddings: Tensor, tolerance: float = 1e-8) -> list[int]:
    """Sorts embeddings into classes: those closer than :obj:`tolerance` in all
    channels, directly or through others, are in one class.

    The default lies far from both sides of what happens in
    :meth:`random_embeddings`: on the atlas and on BREC, rounding stays below
    :obj:`1e-11`, and different graphs are at least :obj:`1e-4` apart.
    """
    clusters = DBSCAN(eps=tolerance, min_samples=1, metric='chebyshev')
    return clusters.fit_predict(embeddings.numpy()).tolist()


def _mlp(channels: int, activation: type[torch.nn.Module], depth: int = 2) -> torch.nn.Sequential:
    layers = [(torch.nn.Linear(channels, channels), activation()) for _ in range(depth)]
    return torch.nn.Sequential(*(module for layer in layers for module in layer))
