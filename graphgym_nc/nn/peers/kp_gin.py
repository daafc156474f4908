"""KP-GIN: message passing over K hops, with what peripheral subgraphs tell."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn import Linear, Parameter
from torch_geometric.nn.inits import reset
from torch_geometric.nn.resolver import activation_resolver

from graphgym_nc.nn.peers._kp_parts import (
    Act,
    HopSum,
    add_closed,
    closed_embedding,
    combine_hops,
    two_layers,
)
from graphgym_nc.structures.hops import Hops, KHops


class KPGINConv(torch.nn.Module):
    r"""The KP-GIN operator from the `"How Powerful are K-hop Message Passing Graph Neural
    Networks" <https://arxiv.org/abs/2205.13328>`_ paper.

    .. math::
        \mathbf{x}^{\prime}_i = \mathbf{W} \, \underset{k = 1, \ldots, K}{\mathrm{combine}}
        \; h^k_{\mathbf{\Theta}} \left( (1 + \epsilon) \cdot \mathbf{x}^k_i + \mathbf{p}^k_i +
        \sum_{j \in \mathcal{N}_k(i)} \left( \mathbf{x}^k_j + \mathbf{e}^k_{ij} \right) \right)

    Features :math:`\mathbf{x}_i` are split into as many parts as there are hops. Each hop has a
    map :math:`h^k` of its own, of two layers, and :math:`\mathbf{p}^k_i` tells of the subgraph
    that :math:`\mathcal{N}_k(i)` induces.

    Args:
        in_channels (int): The size of input features, a multiple of the number of hops.
        out_channels (int): The size of output features, a multiple of the number of hops.
        structure (KHops): What graphs have gone through: the number :math:`K` of hops, and what
            there is to tell of neighbours.
        combine (str, optional): How hops are combined: :obj:`"geometric"`
            (the softmax of a geometric series) or :obj:`"attention"` (by a bidirectional LSTM).
            (default: :obj:`"geometric"`)
        eps (float, optional): The :math:`\epsilon`-value. (default: :obj:`0.`)
        act (str or Callable, optional): The activation. (default: :obj:`"relu"`)

    Shapes:
        - **input:** node features :math:`(|\mathcal{V}|, F_{in})`, the neighbours
          (:class:`~graphgym_nc.structures.hops.Hops`), what is told of peripheral subgraphs
          :math:`(K, |\mathcal{V}|, F_{in} / K)` *(optional)*
        - **output:** node features :math:`(|\mathcal{V}|, F_{out})`
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        structure: KHops,
        combine: str = 'geometric',
        eps: float = 0.0,
        act: Act = 'relu',
    ) -> None:
        super().__init__()
        hops = structure.hops
        if in_channels % hops or out_channels % hops:
            raise ValueError(
                f"'in_channels' and 'out_channels' are {in_channels} and {out_channels}, but "
                f'must be multiples of the number of hops ({hops})'
            )
        self.in_channels, self.out_channels, self.hops = in_channels, out_channels, hops
        inner, outer = in_channels // hops, out_channels // hops
        self.sum = HopSum(inner, structure, hops)
        self.closed = closed_embedding(inner, structure, hops)
        self.weight1 = Parameter(torch.empty(hops, inner, outer))
        self.bias1 = Parameter(torch.empty(hops, 1, outer))
        self.weight2 = Parameter(torch.empty(hops, outer, outer))
        self.bias2 = Parameter(torch.empty(hops, 1, outer))
        self.act = activation_resolver(act)
        self.combine = combine_hops(combine, outer, hops)
        self.lin = Linear(outer, out_channels) if hops > 1 else None
        self.eps = eps
        self.reset_parameters()

    def reset_parameters(self) -> None:
        for module in (self.sum, self.closed, self.combine, self.lin):
            reset(module)
        # What Kaiming's rule gives if it takes (hops, in, out) for the shape of a convolution.
        for weight, bias in ((self.weight1, self.bias1), (self.weight2, self.bias2)):
            fan = math.sqrt(weight.size(1) * weight.size(2))
            torch.nn.init.uniform_(weight, -math.sqrt(6) / fan, math.sqrt(6) / fan)
            torch.nn.init.uniform_(bias, -1 / fan, 1 / fan)

    def forward(self, x: Tensor, hops: Hops, peripheral: Tensor | None = None) -> Tensor:
        """Runs the forward pass.

        Args:
            x: The node features.
            hops: The neighbours at each hop.
            peripheral: What is told of the peripheral subgraph of each node at each hop.
        """
        parts = x.view(-1, self.hops, self.in_channels // self.hops).transpose(0, 1).contiguous()
        parts = add_closed(parts, hops, self.closed)
        out = self.sum(parts, hops) + (1 + self.eps) * parts
        if peripheral is not None:
            out = out + peripheral
        out = self.act(torch.baddbmm(self.bias1, out, self.weight1))
        out = self.act(torch.baddbmm(self.bias2, out, self.weight2))
        if self.combine is None or self.lin is None:
            return out[0]
        return self.lin(self.combine(out))

    def __repr__(self) -> str:
        return (
            f'{type(self).__name__}({self.in_channels}, {self.out_channels}, hops={self.hops}, '
            f'combine={type(self.combine).__name__})'
        )


class KPGINPlusConv(torch.nn.Module):
    r"""The KP-GIN+ operator from the `"How Powerful are K-hop Message Passing Graph Neural
    Networks" <https://arxiv.org/abs/2205.13328>`_ paper: what hop :math:`k` sees is the state
    before the last :math:`k` layers.

    .. math::
        \mathbf{x}^{(l + 1)}_i = h_{\mathbf{\Theta}} \left(
        \underset{k = 1, \ldots, \min(l + 1, K)}{\mathrm{combine}} \; \mathbf{p}^k_i +
        \mathrm{GELU} \left( \sum_{j \in \mathcal{N}_k(i)} \left(
        \mathbf{x}^{(l + 1 - k)}_j + \mathbf{e}^k_{ij} \right) \right) \right)

    A node's own state is in none of the sums: it is left to the network's residuals.

    Args:
        channels (int): The size of features.
        hops (int): The number of hops that this layer sees.
        structure (KHops): What graphs have gone through, with at least as many hops.
        combine (str, optional): See :class:`KPGINConv`. (default: :obj:`"geometric"`)
        norm (bool, optional): Whether there is BatchNorm in :math:`h`. (default: :obj:`True`)
        act (str or Callable, optional): The activation in :math:`h`. (default: :obj:`"relu"`)

    Shapes:
        - **input:** the last states, latest first :math:`(k, |\mathcal{V}|, F)`, the neighbours
          (:class:`~graphgym_nc.structures.hops.Hops`), what is told of peripheral subgraphs
          :math:`(k, |\mathcal{V}|, F)` *(optional)*
        - **output:** node features :math:`(|\mathcal{V}|, F)`
    """

    def __init__(
        self,
        channels: int,
        hops: int,
        structure: KHops,
        combine: str = 'geometric',
        norm: bool = True,
        act: Act = 'relu',
    ) -> None:
        super().__init__()
        self.channels, self.hops = channels, hops
        self.sum = HopSum(channels, structure, hops)
        self.closed = closed_embedding(channels, structure, hops)
        self.combine = combine_hops(combine, channels, hops)
        self.nn = two_layers(channels, norm, act)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        for module in (self.sum, self.closed, self.combine, self.nn):
            reset(module)

    def forward(self, states: Tensor, hops: Hops, peripheral: Tensor | None = None) -> Tensor:
        """Runs the forward pass."""
        out = F.gelu(self.sum(add_closed(states, hops, self.closed), hops))
        if peripheral is not None:
            out = out + peripheral
        return self.nn(out[0] if self.combine is None else self.combine(out))

    def __repr__(self) -> str:
        return f'{type(self).__name__}({self.channels}, hops={self.hops})'


class EdgeTypeGINConv(torch.nn.Module):
    r"""The layers of KP-GIN' after the first: GIN with an embedding of the type of each edge.

    .. math::
        \mathbf{x}^{\prime}_i = h_{\mathbf{\Theta}} \left( \mathbf{x}_i +
        \sum_{j \in \mathcal{N}(i)} \left( \mathbf{x}_j + \mathbf{e}_{ij} \right) \right)

    Args:
        channels (int): The size of features.
        structure (KHops): What graphs have gone through.
        eps (float, optional): See :class:`KPGINConv`. (default: :obj:`0.`)
        norm (bool, optional): Whether there is BatchNorm in :math:`h`. (default: :obj:`True`)
        act (str or Callable, optional): The activation in :math:`h`. (default: :obj:`"relu"`)
    """

    def __init__(
        self,
        channels: int,
        structure: KHops,
        eps: float = 0.0,
        norm: bool = True,
        act: Act = 'relu',
    ) -> None:
        super().__init__()
        self.channels, self.eps = channels, eps
        self.sum = HopSum(channels, structure, 1)
        self.nn = two_layers(channels, norm, act)

    def reset_parameters(self) -> None:
        reset(self.sum)
        reset(self.nn)

    def forward(self, x: Tensor, hops: Hops) -> Tensor:
        """Runs the forward pass."""
        return self.nn(self.sum(x.unsqueeze(0), hops)[0] + (1 + self.eps) * x)

    def __repr__(self) -> str:
        return f'{type(self).__name__}({self.channels})'
