"""Message passing between nodes, between pairs and between triples of nodes: 1-2-3-GNN."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor
from torch_geometric.nn import MLP, GraphConv, Linear, MessagePassing
from torch_geometric.nn.inits import reset
from torch_geometric.nn.resolver import aggregation_resolver
from torch_geometric.utils.num_nodes import maybe_num_nodes

from graphgym_nc.structures.sets import Sets, num_types


class TypedGraphConv(MessagePassing):
    r"""The operator :class:`~torch_geometric.nn.conv.GraphConv` on features and a one-hot type,
    :math:`\mathbf{x}_s \, \Vert \, \mathbf{e}_{\tau(s)}`, without storing the latter: a matrix
    times :math:`\mathbf{e}_{\tau}` is one of its columns.

    .. math::
        \mathbf{x}^{\prime}_s = \mathbf{W}_1 \mathbf{x}_s + \mathbf{u}_{\tau(s)} +
        \mathrm{mean}_{t \in \mathcal{N}(s)} \left( \mathbf{W}_2 \mathbf{x}_t +
        \mathbf{v}_{\tau(t)} \right)

    Args:
        in_channels (int): Size of the features.
        out_channels (int): Size of the output.
        num_types (int): The number of types.
        aggr (str, optional): How neighbours are put together. (default: :obj:`"mean"`)
    """

    def __init__(
        self, in_channels: int, out_channels: int, num_types: int, aggr: str = 'mean'
    ) -> None:
        super().__init__(aggr=aggr)
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.num_types = num_types
        self.lin_rel = Linear(in_channels, out_channels, bias=False)
        self.lin_root = Linear(in_channels, out_channels, bias=False)
        self.type_rel = torch.nn.Embedding(num_types, out_channels)
        self.type_root = torch.nn.Embedding(num_types, out_channels)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        super().reset_parameters()
        bound = (self.in_channels + self.num_types) ** -0.5
        for parameter in self.parameters():
            torch.nn.init.uniform_(parameter, -bound, bound)

    def forward(self, x: Tensor, type: Tensor, edge_index: Tensor) -> Tensor:  # noqa: A002
        """Runs the forward pass.

        Args:
            x: The features.
            type: The types, one for each row of :obj:`x`.
            edge_index: The edge indices.
        """
        # propagate_type: (x: Tensor)
        out = self.propagate(edge_index, x=self.lin_rel(x) + self.type_rel(type))
        return out + self.lin_root(x) + self.type_root(type)

    def message(self, x_j: Tensor) -> Tensor:
        return x_j

    def __repr__(self) -> str:
        sizes = f'{self.in_channels}, {self.out_channels}, {self.num_types}'
        return f'{self.__class__.__name__}({sizes}, aggr={self.aggr})'


class K123GNN(torch.nn.Module):
    r"""The 1-2-3-GNN from the `"Weisfeiler and Leman Go Neural: Higher-order Graph Neural
    Networks" <https://arxiv.org/abs/1810.02244>`_ paper, trained as a whole.

    Nodes, pairs of nodes and connected triples of nodes (see
    :class:`graphgym_nc.transforms.AddSets`) each have layers of
    :class:`~torch_geometric.nn.conv.GraphConv`. Pairs and triples start from the mean of their
    nodes' states and from their type. All three are pooled over each graph, and go through three
    Linear layers.

    Args:
        in_channels (int): Size of the node features.
        hidden_channels (int): Size of all states; half of that after the first layer.
        out_channels (int): Number of scores.
        num_layers (tuple, optional): Number of layers for nodes, and for pairs and triples.
            (default: :obj:`(3, 2)`)
        num_labels (int, optional): Number of labels of nodes that types tell apart.
            (default: :obj:`1`)
        aggr (str, optional): How neighbours are put together. (default: :obj:`"mean"`)
        pool (str, optional): How nodes, pairs and triples are pooled. (default: :obj:`"mean"`)
        dropout (float, optional): Dropout after the first of the Linear layers.
            (default: :obj:`0.5`)
        **kwargs (optional): Additional arguments of :class:`~torch_geometric.nn.models.MLP`, such
            as the activation :obj:`act`, which is also that of the layers. (default: :obj:`"elu"`)

    Shapes:
        - **input:** node features :math:`(|\mathcal{V}|, F_{in})`, edge indices, pairs and triples
        - **output:** scores :math:`(|\mathcal{G}|, F_{out})`
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        num_layers: tuple[int, int] = (3, 2),
        num_labels: int = 1,
        aggr: str = 'mean',
        pool: str = 'mean',
        dropout: float = 0.5,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        width, half = hidden_channels, max(hidden_channels // 2, 1)
        first, then = num_layers
        widths = [in_channels, half, *[width] * first][: first + 1]
        self.convs = torch.nn.ModuleList(
            GraphConv(*channels, aggr=aggr) for channels in pairwise(widths)
        )
        self.pair_convs, self.triple_convs = (
            torch.nn.ModuleList(
                [
                    TypedGraphConv(widths[-1], width, num_types(size, num_labels), aggr),
                    *(GraphConv(width, width, aggr=aggr) for _ in range(then - 1)),
                ]
            )
            for size in (2, 3)
        )
        self.pool = aggregation_resolver(pool)
        kwargs.setdefault('act', 'elu')
        channels = [widths[-1] + 2 * width, width, half, out_channels]
        self.mlp = MLP(channels, dropout=[dropout, 0.0, 0.0], norm=None, **kwargs)

    def reset_parameters(self) -> None:
        """Resets all learnable parameters of the module."""
        for part in (self.convs, self.pair_convs, self.triple_convs, self.mlp):
            reset(part)

    def forward(self, *args: Any, **kwargs: Any) -> Tensor:
        """Runs the forward pass, with the arguments of :meth:`pooled`."""
        return self.mlp(self.pooled(*args, **kwargs))

    def pooled(
        self,
        x: Tensor,
        edge_index: Tensor,
        sets: Sequence[Sets],
        batch: Tensor | None = None,
        batch_size: int | None = None,
    ) -> Tensor:
        """The states of nodes, pairs and triples, pooled and concatenated.

        Args:
            x: The node features.
            edge_index: The edge indices.
            sets: The pairs and the triples.
            batch: The graph of every node; a single one if not given.
            batch_size: The number of graphs, found out if not given.
        """
        if batch is None:
            batch, batch_size = edge_index.new_zeros(x.size(0)), 1
        batch_size = maybe_num_nodes(batch, batch_size)  # the last graphs may have no triples
        for conv in self.convs:
            x = self.mlp.act(conv(x, edge_index))
        pooled = [self.pool(x, batch, dim_size=batch_size)]
        for (nodes, edges, types), convs in zip(
            sets, (self.pair_convs, self.triple_convs), strict=True
        ):
            state = x[nodes].mean(dim=0)
            for i, conv in enumerate(convs):
                args = (types, edges) if i == 0 else (edges,)
                state = self.mlp.act(conv(state, *args))
            pooled.append(self.pool(state, batch[nodes[0]], dim_size=batch_size))
        return torch.cat(pooled, dim=-1)
