"""Values for all pairs of nodes, for many graphs at once."""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor
from torch_geometric.nn.conv.gcn_conv import gcn_norm
from torch_geometric.utils import to_dense_adj, to_dense_batch

#: What a pair of nodes is given at first.
INPUTS = ('diagonal', 'spread', 'adjacency')


class Pairs(NamedTuple):
    """Values for all ordered pairs of nodes of each graph, padded to the largest graph.

    Attributes:
        values: The values, of shape :obj:`[num_graphs, channels, n, n]`, zero in the padding.
        nodes: Which nodes there are, of shape :obj:`[num_graphs, n]`; :obj:`None` if all
            graphs are of one size.
    """

    values: Tensor
    nodes: Tensor | None

    @classmethod
    def of(
        cls,
        x: Tensor,
        edge_index: Tensor,
        batch: Tensor | None = None,
        batch_size: int | None = None,
        inputs: str = 'diagonal',
    ) -> 'Pairs':
        r"""Puts :math:`\mathbf{D}^{-\frac{1}{2}} \mathbf{A} \mathbf{D}^{-\frac{1}{2}}` into the
        first channel, and node features on the diagonal of the others.

        Args:
            x: The node features.
            edge_index: The edges.
            batch: The graph of every node, in ascending order.
            batch_size: The number of graphs.
            inputs: One of :obj:`INPUTS`: as above, with the adjacency added to all channels, or
                the adjacency alone.
        """
        if batch is None:
            batch, batch_size = edge_index.new_zeros(x.size(0)), 1
        edge_index, weight = gcn_norm(
            edge_index, None, x.size(0), add_self_loops=False, dtype=x.dtype
        )
        features, nodes = to_dense_batch(x, batch, batch_size=batch_size)
        number, size, channels = features.shape
        adjacency = to_dense_adj(edge_index, batch, weight, size, number).unsqueeze(1)
        padded = nodes if number * size > x.size(0) else None
        if inputs == 'adjacency':
            return cls(adjacency, padded)
        if inputs == 'spread':
            values = adjacency.repeat(1, 1 + channels, 1, 1)
        else:
            zeros = adjacency.new_zeros(number, channels, size, size)
            values = torch.cat([adjacency, zeros], dim=1)
        values[:, 1:].diagonal(dim1=2, dim2=3).add_(features.transpose(1, 2))
        return cls(values, padded)


class PairNetwork(torch.nn.Module):
    """Scores graphs or nodes by values for all pairs of nodes.

    Args:
        inputs: What a pair is given at first, one of :obj:`INPUTS`.
        for_nodes: Whether nodes are scored, not graphs.
    """

    def __init__(self, inputs: str, for_nodes: bool) -> None:
        super().__init__()
        self.inputs, self.for_nodes = inputs, for_nodes

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor,
        batch: Tensor | None = None,
        batch_size: int | None = None,
    ) -> Tensor:
        """Runs the forward pass.

        Args:
            x: The node features.
            edge_index: The edge indices.
            batch: The graph of every node, in ascending order; a single one if not given.
            batch_size: The number of graphs, found out if not given.
        """
        pairs = Pairs.of(x, edge_index, batch, batch_size, self.inputs)
        scores = self.score(pairs)
        if not self.for_nodes:
            return scores
        return scores.flatten(0, 1) if pairs.nodes is None else scores[pairs.nodes]

    def score(self, pairs: Pairs) -> Tensor:
        """The scores of graphs, :obj:`[num_graphs, out_channels]`, or of nodes with padding,
        :obj:`[num_graphs, n, out_channels]`.
        """
        raise NotImplementedError


def num_inputs(in_channels: int, inputs: str) -> int:
    """The number of channels that :meth:`Pairs.of` gives.

    Raises:
        ValueError: If there is no such input.
    """
    if inputs not in INPUTS:
        raise ValueError(f"'inputs' is '{inputs}', but must be one of {', '.join(INPUTS)}")
    return 1 if inputs == 'adjacency' else 1 + in_channels


def padding(nodes: Tensor | None) -> Tensor | None:
    """The pairs that are not there, of shape :obj:`[num_graphs, 1, n, n]`."""
    if nodes is None:
        return None
    return ~(nodes[:, None, :, None] & nodes[:, None, None, :])


def without(values: Tensor, padding: Tensor | None) -> Tensor:
    """The values, zero in the padding."""
    return values if padding is None else values.masked_fill(padding, 0.0)


class PairLinear(torch.nn.Linear):
    """A linear map of the channels of every pair. The channels of several inputs count as those
    of one, without being copied.
    """

    def forward(self, *inputs: Tensor) -> Tensor:
        weights = self.weight[..., None, None].split([x.size(1) for x in inputs], dim=1)
        out = F.conv2d(inputs[0], weights[0], self.bias)
        for x, weight in zip(inputs[1:], weights[1:], strict=True):
            out = out + F.conv2d(x, weight)
        return out

    def reset_parameters(self) -> None:
        torch.nn.init.xavier_uniform_(self.weight)
        torch.nn.init.zeros_(self.bias)
