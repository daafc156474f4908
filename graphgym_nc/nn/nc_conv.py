from typing import Any, cast

import torch
from torch import Tensor
from torch.nn.modules.batchnorm import _BatchNorm
from torch_geometric.nn.conv import MessagePassing
from torch_geometric.nn.dense.linear import Linear
from torch_geometric.nn.inits import reset
from torch_geometric.typing import Adj
from torch_geometric.utils import is_sparse, to_edge_index

from graphgym_nc.nn._aggregation import LEARNED, PowerAggregation
from graphgym_nc.nn._communicate import communicate, merge_equal
from graphgym_nc.nn._stages import is_plain, is_plain_linear, only_sums
from graphgym_nc.triangles.incidence import TriangleIncidence
from graphgym_nc.triangles.merged_edges import Edges


class NCGNNConv(MessagePassing):
    r"""The NC-GNN operator from the `"Empowering GNNs via Edge-Aware
    Weisfeiler-Leman Algorithm" <https://arxiv.org/abs/2206.02059>`_ paper,
    which adds to :class:`~torch_geometric.nn.conv.GINConv` a sum over the
    edges among a node's neighbours.

    .. math::
        \mathbf{x}^{\prime}_i = h_{\mathbf{\Theta}} \left( (1 + \epsilon) \cdot
        \mathbf{x}_i + \sum_{j \in \mathcal{N}(i)} \mathbf{x}_j +
        \sum_{\{j, k\} \in \mathcal{E}, \; j, k \in \mathcal{N}(i)}
        g_{\mathbf{\Phi}} \left( \mathbf{x}_j + \mathbf{x}_k \right) \right)

    The last sum has one term for every undirected edge among the neighbours,
    *i.e.* for every triangle that :math:`i` is a corner of; without
    triangles, this is :class:`~torch_geometric.nn.conv.GINConv`. Triangles are
    those of the undirected simple graph (see
    :meth:`graphgym_nc.find_triangles`), while the sum over neighbours follows
    :obj:`edge_index` as it is.

    The cost is that of the edges, not of the triangles: see
    :meth:`graphgym_nc.nn._communicate.communicate`.

    Args:
        nn (torch.nn.Module): A neural network :math:`h_{\mathbf{\Theta}}` that
            maps node features :obj:`x` of shape :obj:`[-1, in_channels]` to
            shape :obj:`[-1, out_channels]`, *e.g.*, defined by
            :class:`torch.nn.Sequential`.
        nn_communicate (torch.nn.Module): A neural network
            :math:`g_{\mathbf{\Phi}}` that maps shape
            :obj:`[-1, in_channels]` to shape :obj:`[-1, in_channels]`.
        eps (float, optional): (Initial) :math:`\epsilon`-value.
            (default: :obj:`0.`)
        train_eps (bool, optional): If set to :obj:`False`, :math:`\epsilon`
            will not be a trainable parameter. (default: :obj:`True`)
        communicate_aggr (str or float, optional): What to divide the last sum by, given
            that it has :math:`n_i` terms: nothing (:obj:`"add"`, as in the paper),
            :math:`\sqrt{n_i}` (:obj:`"sqrt"`), :math:`n_i` (:obj:`"mean"`), :math:`n_i^p` (a
            number :math:`p` from 0 to 1), or the same with a learned :math:`p` for every
            channel (:obj:`"learned"`). The sums of a few nodes with very many such edges
            then do not outweigh all else. A mean does not tell how many there are.
            (default: :obj:`"add"`)
        communicate_scale (float, optional): What to multiply the initial weight of the
            last Linear or BatchNorm layer of :obj:`nn_communicate` by. Below 1, the last
            sum, with its many terms, does not drown all else at first.
            (default: :obj:`1.`)
        communicate_log (bool, optional): If set to :obj:`True`, :math:`\log(1 + n_i)` is
            added to the last sum, times a learned vector that is zero at first.
            (default: :obj:`False`)
        **kwargs (optional): Additional arguments of
            :class:`torch_geometric.nn.conv.MessagePassing`.

    Shapes:
        - **input:**
          node features :math:`(|\mathcal{V}|, F_{in})`,
          edge indices :math:`(2, |\mathcal{E}|)`,
          triangle indices :math:`(3, |\mathcal{T}|)` *(optional)*
        - **output:** node features :math:`(|\mathcal{V}|, F_{out})`
    """

    def __init__(
        self,
        nn: torch.nn.Module,
        nn_communicate: torch.nn.Module,
        eps: float = 0.0,
        train_eps: bool = True,
        communicate_aggr: str | float = 'add',
        communicate_scale: float = 1.0,
        communicate_log: bool = False,
        **kwargs: Any,
    ) -> None:
        kwargs.setdefault('aggr', 'add')
        super().__init__(**kwargs)
        self.communicate_aggr = communicate_aggr
        self.communicate_scale = communicate_scale
        self.communicate_log = communicate_log
        channels = _in_channels(nn) if communicate_log or communicate_aggr == LEARNED else 0
        self.aggregation = PowerAggregation(communicate_aggr, communicate_log, channels)
        self.nn = nn
        self.nn_communicate = nn_communicate
        self.initial_eps = eps
        if train_eps:
            self.eps = torch.nn.Parameter(torch.empty(1))
        else:
            self.register_buffer('eps', torch.empty(1))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        super().reset_parameters()
        reset(self.nn)
        reset(self.nn_communicate)
        self.aggregation.reset_parameters()
        self.scale_communicate()
        self.eps.data.fill_(self.initial_eps)

    def scale_communicate(self) -> None:
        """Multiplies initial weights by :obj:`communicate_scale`; for those who have given
        all layers others than :meth:`reset_parameters` does.
        """
        scaled = (torch.nn.Linear, Linear, _BatchNorm)
        layers = [m for m in self.nn_communicate.modules() if isinstance(m, scaled)]
        if layers and layers[-1].weight is not None:
            layers[-1].weight.data.mul_(self.communicate_scale)

    def forward(
        self,
        x: Tensor,
        edge_index: Adj,
        triangle_index: Tensor | TriangleIncidence | None = None,
    ) -> Tensor:
        """Runs the forward pass.

        Args:
            x: The node features.
            edge_index: The edge indices.
            triangle_index: All triangles of the graph, or what
                :meth:`graphgym_nc.TriangleIncidence.build` makes of them once
                for many layers. If not given, they are found here.
        """
        incidence = _incidence(x, edge_index, triangle_index)
        if self._sums_neighbours(edge_index, incidence):
            out = incidence.neighbours.sum_with_self(x, self.eps)
        else:
            # propagate_type: (x: Tensor)
            out = torch.addcmul(self.propagate(edge_index, x=x), 1 + self.eps, x)
        return self._update(out, x, merge_equal(self.nn_communicate, x, incidence))

    def _update(self, out: Tensor, x: Tensor, edges: Edges) -> Tensor:
        """Adds what the edges among neighbours say, and calls :obj:`nn`; if its first layer
        makes rows narrower, and edges are few, it runs before these are added up.
        """
        nn, aggr = self.nn_communicate, self.aggregation
        may_run = edges.num_edges <= edges.num_nodes and aggr.is_a_number
        first = _narrowing_linear(self.nn) if may_run else None
        if first is None:
            out = out + communicate(nn, x, edges, aggr=aggr)  # keep neither of both alone
            return self.nn(out)
        out = first(out)
        out = out + communicate(nn, x, edges, aggr=aggr, weight_after=first.weight).to(out.dtype)
        for layer in list(cast(torch.nn.Sequential, self.nn))[1:]:
            out = layer(out)
        return out

    def message(self, x_j: Tensor) -> Tensor:
        return x_j

    def _sums_neighbours(self, edge_index: Adj, incidence: TriangleIncidence) -> bool:
        """Whether the incidence has the sum over neighbours, which is then faster."""
        return (
            only_sums(self, NCGNNConv)
            and isinstance(edge_index, Tensor)
            and incidence.is_of(edge_index)
        )

    def __repr__(self) -> str:
        aggr = self.communicate_aggr
        aggr = '' if aggr == 'add' else f', communicate_aggr={aggr}'
        log = ', communicate_log=True' if self.communicate_log else ''
        networks = f'nn={self.nn}, nn_communicate={self.nn_communicate}'
        return f'{type(self).__name__}({networks}{aggr}{log})'


class NCGNNEConv(NCGNNConv):
    r"""The modified :class:`NCGNNConv` operator that incorporates edge
    features :math:`\mathbf{e}_{ji}`, as
    :class:`~torch_geometric.nn.conv.GINEConv` does for
    :class:`~torch_geometric.nn.conv.GINConv`.

    .. math::
        \mathbf{x}^{\prime}_i = h_{\mathbf{\Theta}} \left( (1 + \epsilon) \cdot
        \mathbf{x}_i + \sum_{j \in \mathcal{N}(i)} \mathrm{ReLU} (
        \mathbf{x}_j + \mathbf{e}_{ji} ) +
        \sum_{\{j, k\} \in \mathcal{E}, \; j, k \in \mathcal{N}(i)}
        g_{\mathbf{\Phi}} \left( \mathbf{x}_j + \mathbf{x}_k +
        \mathbf{e}_{jk} \right) \right)

    In the last sum, :math:`\mathbf{e}_{jk}` belongs to an undirected edge: it
    is the mean over the copies of that edge in :obj:`edge_index`.

    Args:
        nn (torch.nn.Module): See :class:`NCGNNConv`.
        nn_communicate (torch.nn.Module): See :class:`NCGNNConv`.
        eps (float, optional): (Initial) :math:`\epsilon`-value.
            (default: :obj:`0.`)
        train_eps (bool, optional): If set to :obj:`False`, :math:`\epsilon`
            will not be a trainable parameter. (default: :obj:`True`)
        edge_dim (int, optional): Edge feature dimensionality. If set to
            :obj:`None`, node and edge feature dimensionality is expected to
            match. Otherwise, edge features are linearly transformed to match
            node feature dimensionality. (default: :obj:`None`)
        communicate_aggr (str or float, optional): See :class:`NCGNNConv`.
            (default: :obj:`"add"`)
        communicate_scale (float, optional): See :class:`NCGNNConv`.
            (default: :obj:`1.`)
        communicate_log (bool, optional): See :class:`NCGNNConv`.
            (default: :obj:`False`)
        **kwargs (optional): Additional arguments of
            :class:`torch_geometric.nn.conv.MessagePassing`.

    Shapes:
        - **input:**
          node features :math:`(|\mathcal{V}|, F_{in})`,
          edge indices :math:`(2, |\mathcal{E}|)`,
          edge features :math:`(|\mathcal{E}|, D)`,
          triangle indices :math:`(3, |\mathcal{T}|)` *(optional)*
        - **output:** node features :math:`(|\mathcal{V}|, F_{out})`
    """

    def __init__(
        self,
        nn: torch.nn.Module,
        nn_communicate: torch.nn.Module,
        eps: float = 0.0,
        train_eps: bool = True,
        edge_dim: int | None = None,
        communicate_aggr: str | float = 'add',
        communicate_scale: float = 1.0,
        communicate_log: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            nn, nn_communicate, eps, train_eps, communicate_aggr, communicate_scale,
            communicate_log, **kwargs,
        )  # fmt: skip
        # `super().__init__` has called `reset_parameters` without it.
        self.lin = None if edge_dim is None else Linear(edge_dim, _in_channels(nn))

    def reset_parameters(self) -> None:
        super().reset_parameters()
        lin = getattr(self, 'lin', None)
        if lin is not None:
            lin.reset_parameters()

    def forward(  # type: ignore[override]
        self,
        x: Tensor,
        edge_index: Tensor,
        edge_attr: Tensor,
        triangle_index: Tensor | TriangleIncidence | None = None,
    ) -> Tensor:
        """Runs the forward pass.

        Args:
            x: The node features.
            edge_index: The edge indices.
            edge_attr: The edge features.
            triangle_index: See :meth:`NCGNNConv.forward`.
        """
        _check_homogeneous(x)
        if edge_attr.dim() != 2:
            raise ValueError(
                f"'edge_attr' must have shape [E, channels] (got {list(edge_attr.shape)})"
            )
        if self.lin is None and x.size(-1) != edge_attr.size(-1):
            raise ValueError(
                f'Node and edge feature dimensionalities do not match ({x.size(-1)} and '
                f"{edge_attr.size(-1)}). Consider setting the 'edge_dim' attribute of "
                f"'{type(self).__name__}'"
            )
        incidence = _incidence(x, edge_index, triangle_index)
        edge_mean = incidence.edge_mean(edge_attr)
        if self.lin is not None:
            edge_attr, edge_mean = self.lin(edge_attr), self.lin(edge_mean)
        # propagate_type: (x: Tensor, edge_attr: Tensor)
        out = self.propagate(edge_index, x=x, edge_attr=edge_attr)
        out = torch.addcmul(out, 1 + self.eps, x)
        out = out + communicate(self.nn_communicate, x, incidence, edge_mean, self.aggregation)
        return self.nn(out)

    def message(self, x_j: Tensor, edge_attr: Tensor) -> Tensor:  # type: ignore[override]
        return (x_j + edge_attr).relu()


def _incidence(
    x: Tensor, edge_index: Adj, triangle_index: Tensor | TriangleIncidence | None
) -> TriangleIncidence:
    _check_homogeneous(x)
    sparse = is_sparse(edge_index)
    if sparse:
        edge_index = to_edge_index(edge_index)[0]
    if isinstance(triangle_index, TriangleIncidence):
        if triangle_index.num_nodes == x.size(0):
            triangle_index.check(edge_index, in_order=not sparse)
        return triangle_index
    return TriangleIncidence.build(edge_index, x.size(0), triangle_index)


def _check_homogeneous(x: object) -> None:
    if not isinstance(x, Tensor):
        raise ValueError(
            f"'x' must be one tensor for all nodes (got '{type(x).__name__}'): a bipartite graph "
            f'has no edges among the neighbours of a node. Give the features of all nodes and '
            f"the edges among them, e.g., of 'data.to_homogeneous()'"
        )


def _narrowing_linear(nn: torch.nn.Module) -> torch.nn.Linear | None:
    """The Linear layer that a network begins with, if it makes rows narrower."""
    if type(nn) is not torch.nn.Sequential or not is_plain(nn) or not nn:
        return None
    first = cast(torch.nn.Linear, nn[0])
    narrows = is_plain_linear(first) and first.weight.size(0) < first.weight.size(1)
    return first if narrows else None


def _in_channels(nn: torch.nn.Module) -> int:
    first = nn[0] if isinstance(nn, torch.nn.Sequential) else nn
    for name in ('in_features', 'in_channels'):
        if hasattr(first, name):
            return int(getattr(first, name))
    raise ValueError("Could not infer input channels from 'nn'.")
