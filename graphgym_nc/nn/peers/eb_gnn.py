from collections.abc import Callable
from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor
from torch_geometric.nn.resolver import activation_resolver
from torch_geometric.utils import scatter

from graphgym_nc.nn.peers._pair_sums import pair_sums


class EBConv(torch.nn.Module):
    r"""The operator of EB-GNN from `"Message Passing on the Edge: Towards Scalable and Expressive
    GNNs" <https://arxiv.org/abs/2510.13615>`_, on the states of directed edges.

    .. math::
        \mathbf{h}^{\prime}_{uv} = \sum_{w \in \mathcal{N}(u)} f_1(\mathbf{h}_{uw}) +
        \sum_{w \in \mathcal{N}(u) \cap \mathcal{N}(v)}
        f_2(\mathbf{h}_{uw} \, \Vert \, \mathbf{h}_{vw}) +
        \sum_{w \in \mathcal{N}(v)} f_3(\mathbf{h}_{vw})

    Each of :math:`f_1, f_2, f_3` is a Linear layer, BatchNorm and an activation. The first and
    the last sum belong to a node: they are taken once for each, so that BatchNorm there counts
    every edge once (where the authors' counts it as often as it is read, while training). The
    Linear layer of :math:`f_2` maps both halves of a pair before they are gathered. So
    :math:`\mathcal{O}(m d^2 + T d)` is the time, for :math:`m` edges, :math:`T` triangles and
    :math:`d` channels. The memory is :math:`\mathcal{O}(m d)`, without a row for any of the
    :math:`6T` pairs.

    Args:
        channels (int): The number of channels.
        act (str or Callable, optional): The activation. (default: :obj:`"relu"`)
        batch_norm (bool, optional): Whether there is BatchNorm. (default: :obj:`True`)

    Shapes:
        - **input:** states :math:`(S, F)`, their ends :math:`(2, S)`, pairs :math:`(3, P)`
        - **output:** states :math:`(S, F)`
    """

    def __init__(
        self, channels: int, act: str | Callable[..., Any] = 'relu', batch_norm: bool = True
    ) -> None:
        super().__init__()
        self.lins = torch.nn.ModuleList(
            torch.nn.Linear(factor * channels, channels) for factor in (1, 2, 1)
        )
        self.norms = torch.nn.ModuleList(_norm(channels, batch_norm) for _ in range(3))
        self.act = activation_resolver(act)

    def reset_parameters(self) -> None:
        for module in (*self.lins, *self.norms):
            if hasattr(module, 'reset_parameters'):
                module.reset_parameters()

    def forward(self, h: Tensor, state_index: Tensor, pairs: Tensor) -> Tensor:
        """Runs the forward pass.

        Args:
            h: The states.
            state_index: Both ends of every state, where every state has a reverse.
            pairs: Which states of triangles are read, and by which, as of :meth:`opposite_pairs`.
        """
        source, target = state_index
        size = h.size(0)  # there are no more nodes than states
        at_source, at_target = (
            scatter(self.act(self.norms[i](self.lins[i](h))), source, dim_size=size)
            for i in (0, 2)
        )
        out = at_source[source] + at_target[target]
        lin = cast(torch.nn.Linear, self.lins[1])
        first, second = lin.weight.chunk(2, dim=1)
        halves = F.linear(h, first), F.linear(h, second, lin.bias)
        return out + pair_sums(*halves, pairs, self.norms[1], self.act)

    def __repr__(self) -> str:
        return f'{type(self).__name__}({self.lins[0].out_features}, act={self.act})'


class EBGNN(torch.nn.Module):
    r"""EB-GNN from `"Message Passing on the Edge: Towards Scalable and Expressive GNNs"
    <https://arxiv.org/abs/2510.13615>`_ (Barceló et al., 2025): message passing between the
    directed edges of a graph.

    The state of an edge begins as the sum of what Linear layers make of the features of its
    source, of its target, and of its own. A layer is :class:`EBConv`, an activation, what was
    before (if :obj:`residual`), BatchNorm and Dropout. A node that has no edges counts as an edge
    from itself to itself, to whose first state a learned vector is added; without it, two such
    nodes would look like two that are joined by an edge.

    Args:
        in_channels (int): The number of node features.
        channels (int): The number of channels of a state.
        num_layers (int): The number of layers.
        edge_dim (int, optional): The number of edge features, if there are some.
            (default: :obj:`None`)
        act (str or Callable, optional): The activation. (default: :obj:`"relu"`)
        dropout (float, optional): Dropout after every layer. (default: :obj:`0.`)
        residual (bool, optional): Whether the input of every layer is added to its output.
            (default: :obj:`True`)
        jk (str, optional): Which states are given: those of the last layer (:obj:`"last"`), or
            the sum of all, the first among them (:obj:`"sum"`). (default: :obj:`"last"`)
        batch_norm (bool, optional): Whether there is BatchNorm. (default: :obj:`True`)

    Shapes:
        - **input:**
          node features :math:`(|\mathcal{V}|, F_{in})`,
          ends of states :math:`(2, S)`, states of triangles :math:`(6, T)`
          (see :class:`graphgym_nc.transforms.EdgeNeighbourhoods`),
          edge features :math:`(|\mathcal{E}|, D)` *(optional)*,
          edge indices :math:`(2, |\mathcal{E}|)` *(optional)*,
          states of edges :math:`(|\mathcal{E}|)` *(optional)*
        - **output:** states :math:`(S, F)`
    """

    def __init__(  # noqa: PLR0913
        self,
        in_channels: int,
        channels: int,
        num_layers: int,
        *,
        edge_dim: int | None = None,
        act: str | Callable[..., Any] = 'relu',
        dropout: float = 0.0,
        residual: bool = True,
        jk: str = 'last',
        batch_norm: bool = True,
    ) -> None:
        super().__init__()
        if jk not in ('last', 'sum'):
            raise ValueError(f"'jk' must be 'last' or 'sum' (got {jk!r})")
        self.dropout, self.residual, self.jk = dropout, residual, jk
        self.lin_source = torch.nn.Linear(in_channels, channels)
        self.lin_target = torch.nn.Linear(in_channels, channels)
        self.lin_edge = None if edge_dim is None else torch.nn.Linear(edge_dim, channels)
        self.isolated = torch.nn.Parameter(torch.empty(1, channels))
        self.convs = torch.nn.ModuleList(
            EBConv(channels, act, batch_norm) for _ in range(num_layers)
        )
        self.norms = torch.nn.ModuleList(_norm(channels, batch_norm) for _ in range(num_layers))
        self.act = activation_resolver(act)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        for module in (self.lin_source, self.lin_target, self.lin_edge, *self.convs, *self.norms):
            if hasattr(module, 'reset_parameters'):
                module.reset_parameters()
        torch.nn.init.normal_(self.isolated, std=self.isolated.size(1) ** -0.5)

    def forward(
        self,
        x: Tensor,
        state_index: Tensor,
        state_triangle_index: Tensor,
        edge_attr: Tensor | None = None,
        edge_index: Tensor | None = None,
        edge_state: Tensor | None = None,
    ) -> Tensor:
        """Runs the forward pass.

        Args:
            x: The node features.
            state_index: Both ends of every state.
            state_triangle_index: The states of every triangle.
            edge_attr: The edge features. Those of several copies of an edge, in the same
                direction, are averaged; and zero where an edge has only the other direction.
            edge_index: The edge indices, to be given with :obj:`edge_attr`.
            edge_state: The state of every edge, to be given with :obj:`edge_attr`.
        """
        source, target = state_index
        h = self.lin_source(x)[source] + self.lin_target(x)[target]
        h = h + (source == target).view(-1, 1) * self.isolated
        if self.lin_edge is not None:
            if edge_attr is None or edge_index is None or edge_state is None:
                raise ValueError("'edge_dim' asks for 'edge_attr', 'edge_index' and 'edge_state'")
            h = h + _of_columns(self.lin_edge(edge_attr), edge_index, state_index, edge_state)
        pairs = opposite_pairs(state_triangle_index)
        total = h
        for conv, norm in zip(self.convs, self.norms, strict=True):
            out = self.act(conv(h, state_index, pairs))
            out = norm(out + h if self.residual else out)
            h = F.dropout(out, self.dropout, self.training)
            total = total + h if self.jk == 'sum' else h
        return total

    def __repr__(self) -> str:
        return (
            f'{type(self).__name__}({self.lin_source.in_features}, '
            f'{self.lin_source.out_features}, num_layers={len(self.convs)})'
        )


def opposite_pairs(state_triangle_index: Tensor) -> Tensor:
    """All :math:`(u, w)`, :math:`(v, w)` and :math:`(u, v)` of triangles, as numbers of states,
    of shape :obj:`[3, 6T]`; from the states of triangles, of shape :obj:`[6, T]`.
    """
    ab, ba, ac, ca, bc, cb = state_triangle_index
    first = torch.cat([ac, bc, ab, cb, ba, ca])
    second = torch.cat([bc, ac, cb, ab, ca, ba])
    return torch.stack([first, second, torch.cat([ab, ba, ac, ca, bc, cb])])


def node_readout(h: Tensor, state_index: Tensor, num_nodes: int) -> Tensor:
    """Gives half of every state to each of its ends. So the sum over the nodes of a graph is that
    over its edges.

    Args:
        h: The states.
        state_index: Both ends of every state.
        num_nodes: The number of nodes.
    """
    source, target = state_index
    of_source = scatter(h, source, dim_size=num_nodes)
    return (of_source + scatter(h, target, dim_size=num_nodes)) / 2


def _of_columns(
    features: Tensor, edge_index: Tensor, state_index: Tensor, edge_state: Tensor
) -> Tensor:
    """The mean features of every state's columns."""
    size = state_index.size(1)
    kept = (state_index[:, edge_state] == edge_index).all(dim=0).to(features.dtype)
    number = scatter(kept, edge_state, dim_size=size).clamp(min=1).view(-1, 1)
    return scatter(kept.view(-1, 1) * features, edge_state, dim_size=size) / number


def _norm(channels: int, batch_norm: bool) -> torch.nn.Module:
    return torch.nn.BatchNorm1d(channels) if batch_norm else torch.nn.Identity()
