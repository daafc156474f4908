"""The networks SIN and CIN."""

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch_geometric.nn import Linear
from torch_geometric.nn.inits import reset
from torch_geometric.nn.resolver import activation_resolver, aggregation_resolver
from torch_geometric.utils import scatter
from torch_geometric.utils.num_nodes import maybe_num_nodes

from graphgym_nc.nn.peers.cin import DIMENSIONS, CINConv
from graphgym_nc.structures.cells import Boundary, Cells


class CIN(torch.nn.Module):
    r"""The networks SIN and CIN, which stack :class:`CINConv`, from the `"Weisfeiler and Lehman
    Go Topological" <https://arxiv.org/abs/2103.03212>`_ and `"Weisfeiler and Lehman Go Cellular"
    <https://arxiv.org/abs/2106.12575>`_ papers: they differ in the rings alone (see
    :class:`graphgym_nc.transforms.AddCells`).

    Edges and rings start from the sum or the mean of their nodes. With :math:`\mathbf{s}_d` the
    outputs of all layers in dimension :math:`d`, concatenated and pooled over each graph, scores
    are

    .. math::
        \mathbf{W} \sum_{d=0}^{2} \phi \left( \mathbf{W}_d \, \mathbf{s}_d \right) + \mathbf{b},

    or those of the nodes, from the first term alone.

    Args:
        in_channels (int): Size of the node features.
        hidden_channels (int): Size of the features of all cells after every layer.
        num_layers (int): Number of layers.
        out_channels (int): Number of scores.
        init (str, optional): What edges and rings start from, the :obj:`"sum"` or the
            :obj:`"mean"` of their nodes. (default: :obj:`"sum"`)
        edge_dim (int, optional): Size of edge features. If given, edges start from a linear map
            of these. (default: :obj:`None`)
        pool (str, optional): How cells are pooled: :obj:`"add"`, :obj:`"mean"` or :obj:`"max"`;
            if :obj:`None`, nodes have scores, not graphs. (default: :obj:`"add"`)
        dropout (float, optional): Dropout before the last layer. (default: :obj:`0.`)
        **kwargs (optional): Additional arguments of :class:`CINConv`.

    Shapes:
        - **input:** node features :math:`(|\mathcal{V}|, F_{in})`, and the cells
        - **output:** scores :math:`(|\mathcal{G}|, F_{out})`, or :math:`(|\mathcal{V}|, F_{out})`
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        num_layers: int,
        out_channels: int,
        init: str = 'sum',
        edge_dim: int | None = None,
        pool: str | None = 'add',
        dropout: float = 0.0,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        if init not in ('sum', 'mean'):
            raise ValueError(f"'init' must be 'sum' or 'mean' (got '{init}')")
        self.init = init
        self.dropout = dropout
        self.edge_lin = None if edge_dim is None else Linear(edge_dim, in_channels)
        widths = [in_channels] + [hidden_channels] * num_layers
        self.convs = torch.nn.ModuleList(
            CINConv(width, hidden_channels, **kwargs) for width in widths[:-1]
        )
        self.act = activation_resolver(kwargs.get('act', 'relu'))
        self.of_nodes = pool is None
        self.pool = aggregation_resolver(pool or 'add')
        # Without a bias, a dimension without cells adds nothing.
        self.lins = torch.nn.ModuleList(
            Linear(num_layers * hidden_channels, 2 * hidden_channels, bias=False)
            for _ in range(1 if self.of_nodes else DIMENSIONS)
        )
        self.lin = Linear(2 * hidden_channels, out_channels)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Resets all learnable parameters of the module."""
        for part in (self.edge_lin, self.convs, self.lins, self.lin):
            reset(part)

    def forward(
        self,
        x: Tensor,
        cells: Cells,
        batch: Tensor | None = None,
        batch_size: int | None = None,
        edge_attr: Tensor | None = None,
    ) -> Tensor:
        """Runs the forward pass.

        Args:
            x: The node features.
            cells: The edges and rings.
            batch: The graph of every node; a single one if not given.
            batch_size: The number of graphs, found out if not given.
            edge_attr: The features of :obj:`cells.edge_index`, each edge once: see
                :meth:`graphgym_nc.structures.cells.edge_features`.
        """
        if self.of_nodes:
            states = [torch.cat([xs[0] for xs in self.states(x, cells, edge_attr)], dim=-1)]
        else:
            states = self.pooled(x, cells, batch, batch_size, edge_attr)
        out = sum(self.act(lin(state)) for lin, state in zip(self.lins, states, strict=True))
        return self.lin(F.dropout(out, self.dropout, self.training))

    def pooled(
        self,
        x: Tensor,
        cells: Cells,
        batch: Tensor | None = None,
        batch_size: int | None = None,
        edge_attr: Tensor | None = None,
    ) -> list[Tensor]:
        """The outputs of all layers, pooled over each graph: for every dimension, a tensor of
        shape :obj:`[batch_size, num_layers * hidden_channels]`.
        """
        if batch is None:
            batch, batch_size = cells.edge_index.new_zeros(x.size(0)), 1
        batch_size = maybe_num_nodes(batch, batch_size)  # the last graphs may have no rings
        batches = (batch, *cells.batches(batch))
        layers = [
            [
                self.pool(x, index, dim_size=batch_size)
                for x, index in zip(xs, batches, strict=True)
            ]
            for xs in self.states(x, cells, edge_attr)
        ]
        return [torch.cat(outputs, dim=-1) for outputs in zip(*layers, strict=True)]

    def states(
        self, x: Tensor, cells: Cells, edge_attr: Tensor | None = None
    ) -> list[list[Tensor]]:
        """The features of nodes, edges and rings after every layer."""
        boundaries = cells.boundaries()
        xs, states = self._start(x, cells, boundaries, edge_attr), []
        for conv in self.convs:
            xs = conv(xs, boundaries)
            states.append(xs)
        return states

    def _start(
        self,
        x: Tensor,
        cells: Cells,
        boundaries: Sequence[Boundary],
        edge_attr: Tensor | None,
    ) -> list[Tensor]:
        (node, edge), (ring_edge, ring) = boundaries
        edges = scatter(x[node], edge, 0, cells.num_edges)
        # Every node of a ring is on two of its edges.
        rings = scatter(edges[ring_edge], ring, 0, cells.num_rings) / 2
        if self.init == 'mean':
            edges, rings = edges / 2, rings / cells.ring_size[:, None]
        if self.edge_lin is not None:
            edges = self.edge_lin(edge_attr)
        return [x, edges, rings]
