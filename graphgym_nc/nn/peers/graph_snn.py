from typing import Any

import torch
from torch import Tensor
from torch_geometric.nn.conv import MessagePassing
from torch_geometric.nn.dense.linear import Linear
from torch_geometric.nn.inits import reset
from torch_geometric.utils import scatter

from graphgym_nc.nn.nc_conv import _in_channels


class GraphSNNConv(MessagePassing):
    r"""The GraphSNN operator from `"A New Perspective on 'How Graph Neural Networks Go Beyond
    Weisfeiler-Lehman?'" <https://openreview.net/forum?id=uxgg9o7bI_3>`_ (Wijesinghe and Wang,
    ICLR 2022).

    .. math::
        \mathbf{x}^{\prime}_v = h_{\mathbf{\Theta}} \left( \gamma \, w_{vv} \, \mathbf{x}_v +
        \sum_{u \in \mathcal{N}(v)} w_{vu} \, \mathbf{x}_u \right), \qquad
        w_{vv} = \sum_{u \in \mathcal{N}(v)} w_{vu},

    where the weights :math:`w_{vu}` tell how densely the common neighbourhood of two nodes is
    connected: see :class:`graphgym_nc.transforms.StructuralCoefficients`. A node without
    neighbours is given :math:`h_{\mathbf{\Theta}}(\mathbf{0})`.

    Args:
        nn (torch.nn.Module): A neural network :math:`h_{\mathbf{\Theta}}` that maps shape
            :obj:`[-1, in_channels]` to shape :obj:`[-1, out_channels]`.
        gamma (float, optional): The initial :math:`\gamma`, which is learned.
            (default: :obj:`0.1`)
        **kwargs (optional): Additional arguments of
            :class:`torch_geometric.nn.conv.MessagePassing`.

    Shapes:
        - **input:**
          node features :math:`(|\mathcal{V}|, F_{in})`,
          edge indices :math:`(2, |\mathcal{E}|)`,
          edge weights :math:`(|\mathcal{E}|)`
        - **output:** node features :math:`(|\mathcal{V}|, F_{out})`
    """

    def __init__(self, nn: torch.nn.Module, gamma: float = 0.1, **kwargs: Any) -> None:
        kwargs.setdefault('aggr', 'add')
        super().__init__(**kwargs)
        self.nn = nn
        self.initial_gamma = gamma
        self.gamma = torch.nn.Parameter(torch.empty(1))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        super().reset_parameters()
        reset(self.nn)
        self.gamma.data.fill_(self.initial_gamma)

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor) -> Tensor:
        """Runs the forward pass.

        Args:
            x: The node features.
            edge_index: The edge indices.
            edge_weight: The structural coefficients of all edges.
        """
        edge_weight = edge_weight.to(x.dtype)
        # propagate_type: (x: Tensor, edge_weight: Tensor)
        out = self.propagate(edge_index, x=x, edge_weight=edge_weight)
        return self.nn(out + self._of_itself(x, edge_index, edge_weight))

    def _of_itself(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor) -> Tensor:
        target = edge_index[1 if self.flow == 'source_to_target' else 0]
        weight = scatter(edge_weight, target, dim_size=x.size(0))
        return self.gamma * weight.view(-1, 1) * x

    def message(self, x_j: Tensor, edge_weight: Tensor) -> Tensor:
        return edge_weight.view(-1, 1) * x_j

    def __repr__(self) -> str:
        return f'{type(self).__name__}(nn={self.nn})'


class GraphSNNEConv(GraphSNNConv):
    r"""The modified :class:`GraphSNNConv` operator that incorporates edge features
    :math:`\mathbf{e}_{vu}`, as its authors have it for the data sets of OGB.

    .. math::
        \mathbf{x}^{\prime}_v = h_{\mathbf{\Theta}} \left( \gamma \, w_{vv} \, \mathbf{x}_v +
        \sum_{u \in \mathcal{N}(v)} w_{vu} \, \mathrm{ReLU} (\mathbf{x}_u + \mathbf{e}_{vu})
        \right)

    Args:
        nn (torch.nn.Module): See :class:`GraphSNNConv`.
        gamma (float, optional): See :class:`GraphSNNConv`. (default: :obj:`0.1`)
        edge_dim (int, optional): Edge feature dimensionality, from which edge features are
            linearly transformed to that of node features; without it, both must match.
            (default: :obj:`None`)
        **kwargs (optional): Additional arguments of
            :class:`torch_geometric.nn.conv.MessagePassing`.

    Shapes:
        - **input:**
          node features :math:`(|\mathcal{V}|, F_{in})`,
          edge indices :math:`(2, |\mathcal{E}|)`,
          edge weights :math:`(|\mathcal{E}|)`,
          edge features :math:`(|\mathcal{E}|, D)`
        - **output:** node features :math:`(|\mathcal{V}|, F_{out})`
    """

    def __init__(
        self,
        nn: torch.nn.Module,
        gamma: float = 0.1,
        edge_dim: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(nn, gamma, **kwargs)
        # `super().__init__` has called `reset_parameters` without it.
        self.lin = None if edge_dim is None else Linear(edge_dim, _in_channels(nn))

    def reset_parameters(self) -> None:
        super().reset_parameters()
        lin = getattr(self, 'lin', None)
        if lin is not None:
            lin.reset_parameters()

    def forward(  # type: ignore[override]
        self, x: Tensor, edge_index: Tensor, edge_weight: Tensor, edge_attr: Tensor
    ) -> Tensor:
        """Runs the forward pass.

        Args:
            x: The node features.
            edge_index: The edge indices.
            edge_weight: The structural coefficients of all edges.
            edge_attr: The edge features.
        """
        if self.lin is not None:
            edge_attr = self.lin(edge_attr)
        edge_weight = edge_weight.to(x.dtype)
        # propagate_type: (x: Tensor, edge_weight: Tensor, edge_attr: Tensor)
        out = self.propagate(edge_index, x=x, edge_weight=edge_weight, edge_attr=edge_attr)
        return self.nn(out + self._of_itself(x, edge_index, edge_weight))

    def message(  # type: ignore[override]
        self, x_j: Tensor, edge_weight: Tensor, edge_attr: Tensor
    ) -> Tensor:
        return edge_weight.view(-1, 1) * (x_j + edge_attr).relu()
