"""Message passing between nodes, edges and rings: SIN and CIN."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch_geometric.nn import MLP, Linear
from torch_geometric.nn.inits import reset
from torch_geometric.nn.resolver import activation_resolver, aggregation_resolver
from torch_geometric.utils.num_nodes import maybe_num_nodes

from graphgym_nc.structures.cells import Boundary, Cells

_DIMENSIONS = 3


class CINConv(torch.nn.Module):
    r"""The cellular isomorphism operator from the `"Weisfeiler and Lehman Go Cellular: CW
    Networks" <https://arxiv.org/abs/2106.12575>`_ paper, without messages from lower-adjacent
    cells, for cells of the dimensions 0 to 2.

    .. math::
        \mathbf{x}^{\prime}_{\sigma} = h_{\mathbf{\Theta}} \left(
        h_{\uparrow} \Big( (1 + \epsilon_{\uparrow}) \mathbf{x}_{\sigma} +
        \sum_{\sigma, \tau \prec \delta} g (\mathbf{x}_{\tau}, \mathbf{x}_{\delta}) \Big)
        \, \Vert \,
        h_{\mathcal{B}} \Big( (1 + \epsilon_{\mathcal{B}}) \mathbf{x}_{\sigma} +
        \sum_{\tau \prec \sigma} \mathbf{x}_{\tau} \Big) \right)

    The first sum is over the cells :math:`\tau \neq \sigma` that lie, with :math:`\sigma`, on the
    boundary of a cell :math:`\delta`, and the second over the boundary of :math:`\sigma`. A
    message :math:`g(\mathbf{x}_{\tau}, \mathbf{x}_{\delta})` is :math:`\mathbf{x}_{\tau}`, or with
    :obj:`coboundaries` an activation of a linear map of both. Each dimension has networks of its
    own, and every network has BatchNorm and an activation after each Linear layer.

    No list of pairs :math:`(\sigma, \tau)` is needed: each :math:`\delta` sums up the messages of
    its whole boundary, and :math:`\sigma` takes off its own.

    Args:
        in_channels (int): Size of the features of every cell.
        out_channels (int): Size of their features after the layer.
        coboundaries (bool, optional): If set to :obj:`False`, messages do not say through which
            cell they come. (default: :obj:`True`)
        eps (float, optional): (Initial) value of all :math:`\epsilon`. (default: :obj:`0.`)
        train_eps (bool, optional): If set to :obj:`True`, they will be trainable parameters.
            (default: :obj:`False`)
        act (str or Callable, optional): The activation. (default: :obj:`"relu"`)
        norm (str, optional): The normalization. (default: :obj:`"batch_norm"`)

    Shapes:
        - **input:**
          features of nodes :math:`(|\mathcal{V}|, F_{in})`, edges :math:`(|\mathcal{E}|, F_{in})`
          and rings :math:`(|\mathcal{R}|, F_{in})`, and two boundaries
        - **output:** the same, with :math:`F_{out}`
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        coboundaries: bool = True,
        eps: float = 0.0,
        train_eps: bool = False,
        act: str | Callable[[Tensor], Tensor] = 'relu',
        norm: str | None = 'batch_norm',
    ) -> None:
        super().__init__()
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.coboundaries = coboundaries
        self.initial_eps = eps
        # A batch may have one ring, or none.
        norm_kwargs = {'allow_single_element': True} if norm == 'batch_norm' else None
        options: dict[str, Any] = {
            'act': act, 'norm': norm, 'norm_kwargs': norm_kwargs, 'plain_last': False,
        }  # fmt: skip

        def mlps(*channels: int) -> torch.nn.ModuleList:
            return torch.nn.ModuleList(MLP([*channels], **options) for _ in range(_DIMENSIONS))

        self.up_nns = mlps(in_channels, out_channels, out_channels)
        self.boundary_nns = mlps(in_channels, out_channels, out_channels)
        self.update_nns = mlps(2 * out_channels, out_channels)
        self.messages = torch.nn.ModuleList(
            _Message(in_channels, act) for _ in range(_DIMENSIONS - 1 if coboundaries else 0)
        )
        eps_values = torch.empty(2, _DIMENSIONS)
        if train_eps:
            self.eps = torch.nn.Parameter(eps_values)
        else:
            self.register_buffer('eps', eps_values)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Resets all learnable parameters of the module."""
        for networks in (self.up_nns, self.boundary_nns, self.update_nns, self.messages):
            reset(networks)
        self.eps.data.fill_(self.initial_eps)

    def forward(self, xs: Sequence[Tensor], boundaries: Sequence[Boundary]) -> list[Tensor]:
        """Runs the forward pass.

        Args:
            xs: The features of nodes, edges and rings.
            boundaries: The nodes of all edges, and the edges of all rings.
        """
        ups = [(1 + eps) * x for eps, x in zip(self.eps[0], xs, strict=True)]
        downs = [(1 + eps) * x for eps, x in zip(self.eps[1], xs, strict=True)]
        for dim, (face, cell) in enumerate(boundaries):
            rows = xs[dim][face]
            message = (
                self.messages[dim](xs[dim], xs[dim + 1], face, cell) if self.coboundaries else rows
            )
            total = _add(message, cell, xs[dim + 1].size(0))
            ups[dim] = ups[dim].index_add(0, face, total[cell] - message)
            below = _add(rows, cell, xs[dim + 1].size(0)) if self.coboundaries else total
            downs[dim + 1] = downs[dim + 1] + below
        return [
            update(torch.cat([up_nn(up), boundary_nn(down)], dim=-1))
            for update, up_nn, boundary_nn, up, down in zip(
                self.update_nns, self.up_nns, self.boundary_nns, ups, downs, strict=True
            )
        ]

    def __repr__(self) -> str:
        return (
            f'{self.__class__.__name__}({self.in_channels}, {self.out_channels}, '
            f'coboundaries={self.coboundaries})'
        )


class _Message(torch.nn.Module):
    """An activation of a linear map of a cell and another that it lies on the boundary of. Both
    are mapped once, however many messages they are part of.
    """

    def __init__(self, channels: int, act: str | Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.lin = Linear(2 * channels, channels)
        self.act = activation_resolver(act)

    def reset_parameters(self) -> None:
        self.lin.reset_parameters()

    def forward(self, x: Tensor, x_above: Tensor, face: Tensor, cell: Tensor) -> Tensor:
        of_face, of_cell = self.lin.weight.split(x.size(1), dim=1)
        above = F.linear(x_above, of_cell, self.lin.bias)
        return self.act(F.linear(x, of_face)[face] + above[cell])


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
            for _ in range(1 if self.of_nodes else _DIMENSIONS)
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
        edges = _add(x[node], edge, cells.num_edges)
        # Every node of a ring is on two of its edges.
        rings = _add(edges[ring_edge], ring, cells.num_rings) / 2
        if self.init == 'mean':
            edges, rings = edges / 2, rings / cells.ring_size[:, None]
        if self.edge_lin is not None:
            edges = self.edge_lin(edge_attr)
        return [x, edges, rings]


def _add(rows: Tensor, index: Tensor, size: int) -> Tensor:
    """Adds up rows that have the same index."""
    return rows.new_zeros(size, rows.size(1)).index_add(0, index, rows)
