"""Message passing between nodes, edges and rings: the layer of SIN and CIN."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch_geometric.nn import MLP, Linear
from torch_geometric.nn.inits import reset
from torch_geometric.nn.resolver import activation_resolver
from torch_geometric.utils import scatter

from graphgym_nc.structures.cells import Boundary

#: Those of nodes, edges and rings.
DIMENSIONS = 3


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
            return torch.nn.ModuleList(MLP([*channels], **options) for _ in range(DIMENSIONS))

        self.up_nns = mlps(in_channels, out_channels, out_channels)
        self.boundary_nns = mlps(in_channels, out_channels, out_channels)
        self.update_nns = mlps(2 * out_channels, out_channels)
        self.messages = torch.nn.ModuleList(
            _Message(in_channels, act) for _ in range(DIMENSIONS - 1 if coboundaries else 0)
        )
        eps_values = torch.empty(2, DIMENSIONS)
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
            rows, size = xs[dim][face], xs[dim + 1].size(0)
            message = (
                self.messages[dim](xs[dim], xs[dim + 1], face, cell) if self.coboundaries else rows
            )
            total = scatter(message, cell, 0, size)
            ups[dim] = ups[dim] + scatter(total[cell] - message, face, 0, xs[dim].size(0))
            below = scatter(rows, cell, 0, size) if self.coboundaries else total
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
