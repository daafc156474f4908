"""The Structure-Aware Transformer, as a network that embeds graphs by their structure alone."""

import math

import torch
from torch import Tensor
from torch.nn import Identity, Linear, Module, Sequential, Tanh
from torch_geometric.data import Batch
from torch_geometric.nn import GINConv, global_add_pool
from torch_geometric.utils import to_dense_adj

from graphgym_nc.nn.peers import SAT, SATConv, SubgraphExtractor, SubtreeExtractor
from graphgym_nc.structures.subgraphs import EgoNets, Subgraphs


class SATEncoder(Module):
    """A SAT on constant features, whose extractors are layers of GIN, without normalisation.

    Attention among equal features gives all nodes the same. So a first layer only sees degrees,
    by which attention is scaled, and random walks, if there are some.

    Args:
        channels: The width of all layers.
        num_layers: The number of layers.
        activation: The activation.
        out_channels: The size of the embedding, given by a last linear layer; :obj:`channels`,
            without such a layer, if not given.
        k: The number of layers in each extractor, and of hops of the subgraphs.
        subgraphs: Whether these layers run on the subgraph around each node.
        walk_length: The width of the random-walk encoding.
    """

    def __init__(
        self,
        channels: int = 32,
        num_layers: int = 6,
        activation: type[Module] = Tanh,
        out_channels: int | None = None,
        k: int = 3,
        subgraphs: bool = False,
        walk_length: int = 0,
    ) -> None:
        super().__init__()
        self.walk_length = walk_length
        self.find = EgoNets(k) if subgraphs else None
        extractor = SubgraphExtractor if subgraphs else SubtreeExtractor

        def gin() -> GINConv:
            nn = Sequential(Linear(channels, channels), activation(), Linear(channels, channels))
            return GINConv(nn, eps=math.sqrt(2) - 1)

        def conv() -> SATConv:
            convs = [gin() for _ in range(k)]
            inner = extractor(convs, channels, activation, Identity)
            return SATConv(inner, channels, act=activation, norm=Identity)

        head = Identity() if out_channels is None else Linear(channels, out_channels)
        convs = [conv() for _ in range(num_layers)]
        self.sat = SAT(1, convs, head, walk_length, pool=global_add_pool)

    def forward(self, data: Batch) -> Tensor:
        """Embeds a batch of graphs, into shape :obj:`[num_graphs, channels]`.

        Args:
            data: The batch.
        """
        ones = next(self.parameters()).new_ones(data.num_nodes, 1)
        pe = self._returns(data, ones) if self.walk_length else None
        structure = None
        if self.find is not None:
            found = Subgraphs.of(self.find(data))
            structure = [found.index, found.root_index, found.edge_index]
        args = (ones, data.edge_index, data.batch, pe, structure, data.num_graphs)
        return self.sat(*args)

    def _returns(self, data: Batch, ones: Tensor) -> Tensor:
        """How probably random walks return, in the precision of the weights."""
        adjacency = to_dense_adj(data.edge_index, data.batch, batch_size=data.num_graphs)
        walk = adjacency.to(ones.dtype) / adjacency.sum(-1, keepdim=True).clamp(min=1)
        powers = [torch.linalg.matrix_power(walk, t + 1) for t in range(self.walk_length)]
        diagonals = torch.stack([power.diagonal(dim1=1, dim2=2) for power in powers], dim=-1)
        return diagonals[torch.arange(walk.size(1)) < data.ptr.diff()[:, None]]
