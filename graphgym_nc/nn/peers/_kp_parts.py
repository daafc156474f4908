"""The parts of KP-GIN's layers: sums over hops, how hops are combined, and embeddings."""

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any, TypeAlias

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn import LSTM, BatchNorm1d, Embedding, Linear, Parameter
from torch_geometric.nn.inits import reset
from torch_geometric.nn.resolver import activation_resolver

from graphgym_nc.structures.hops import Hops, KHops

#: The ways to combine hops.
COMBINE = ('geometric', 'attention')

#: An activation, or its name.
Act: TypeAlias = str | Callable[..., torch.nn.Module]


class HopSum(torch.nn.Module):
    r"""Sums over the neighbours at each hop what they show, and an embedding of how they are
    reached.

    .. math::
        \mathbf{s}^k_i = \sum_{j \in \mathcal{N}_k(i)} \left( \mathbf{x}^k_j +
        \mathbf{e}^{\min(k, 2)}_{c(i, j)} \right)

    Here :math:`c(i, j)` is the type of an edge at hop 1, and the number of walks at others.
    The embeddings are added up by their number, not neighbour by neighbour.

    Args:
        channels (int): The size of features.
        structure (KHops): What graphs have gone through.
        hops (int): The number of its hops that are summed over.
    """

    def __init__(self, channels: int, structure: KHops, hops: int) -> None:
        super().__init__()
        self.edge = Embedding(structure.edge_types, channels)
        self.walk = Embedding(structure.max_walks, channels) if hops > 1 else None

    def reset_parameters(self) -> None:
        reset(self.edge)
        reset(self.walk)

    def forward(self, x: Tensor, hops: Hops) -> Tensor:
        """Of shape :math:`(k, n, d)`, as :obj:`x`, for the first :math:`k` hops."""
        first = hops.counts[0].to(x.dtype) @ self.edge.weight
        if self.walk is None:
            return hops.sum(x) + first
        weight = self.walk.weight
        others = [count.to(x.dtype) @ weight for count in hops.counts[1 : x.size(0)]]
        return hops.sum(x) + torch.stack([first, *others])


class GeometricCombine(torch.nn.Module):
    r"""Combines hops by the softmax, over hops :math:`k`, of :math:`\alpha (1 - \alpha)^{k - 1}`,
    with a learned :math:`\alpha` for each channel.

    Args:
        channels (int): The size of features.
        hops (int): The number of hops.
    """

    def __init__(self, channels: int, hops: int) -> None:
        super().__init__()
        self.alpha = Parameter(torch.empty(channels))
        self.hops = hops
        self.reset_parameters()

    def reset_parameters(self) -> None:
        torch.nn.init.zeros_(self.alpha)

    def forward(self, x: Tensor) -> Tensor:
        """From shape :math:`(K, n, d)` to :math:`(n, d)`."""
        alpha = self.alpha.sigmoid()
        theta = torch.stack([alpha * (1 - alpha) ** k for k in range(self.hops)])
        return (x * theta.softmax(dim=0).unsqueeze(1)).sum(dim=0)


class AttentionCombine(torch.nn.Module):
    """Combines hops by attention: a bidirectional LSTM over hops gives each a score.

    Args:
        channels (int): The size of features.
        hops (int): The number of hops.
    """

    def __init__(self, channels: int, hops: int) -> None:
        super().__init__()
        self.lstm = LSTM(channels, hops, bidirectional=True)

    def reset_parameters(self) -> None:
        self.lstm.reset_parameters()

    def forward(self, x: Tensor) -> Tensor:
        """From shape :math:`(K, n, d)` to :math:`(n, d)`."""
        score = self.lstm(x)[0].sum(dim=-1, keepdim=True)
        return (x * score.softmax(dim=0)).sum(dim=0)


class PeripheralEncoder(torch.nn.Module):
    r"""Embeds what is told of peripheral subgraphs.

    .. math::
        \mathbf{p}^k_i = \sigma(w) \sum_t f \left( t, m_t \right) +
        \sigma(w^{\prime}) \, g \left( c_0, c_1, \ldots \right)

    Each number has an embedding, and :math:`f` and :math:`g` are linear in all of them.

    Args:
        channels (int): The size of an embedding.
        structure (KHops): What graphs have gone through.
        weight (str or Callable, optional): What :math:`\sigma` is. (default: :obj:`"sigmoid"`)
    """

    def __init__(self, channels: int, structure: KHops, weight: Act = 'sigmoid') -> None:
        super().__init__()
        limits = structure.peripheral
        if limits is None:
            raise ValueError(f'{structure} tells nothing of peripheral subgraphs')
        self.edges = _Numbers([structure.edge_types, limits.edges + 1], channels)
        self.levels = _Numbers([limits.pairs + 1] * (limits.levels + 1), channels)
        self.weight = Parameter(torch.empty(2))
        self.act = activation_resolver(weight)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        reset(self.edges)
        reset(self.levels)
        torch.nn.init.normal_(self.weight)

    def forward(self, hops: Hops) -> Tensor:
        """Of shape :math:`(K, n, d)`."""
        assert hops.edges is not None
        assert hops.levels is not None
        of_edges, of_levels = self.act(self.weight)
        out = of_edges * self.edges(hops.edges).sum(dim=2)
        return (out + of_levels * self.levels(hops.levels)).transpose(0, 1)


class _Numbers(torch.nn.Module):
    """A linear map of the embeddings of several numbers, in which each has a table."""

    def __init__(self, sizes: Sequence[int], channels: int) -> None:
        super().__init__()
        self.sizes, self.channels = sizes, channels
        self.table = Embedding(sum(sizes), channels)
        self.lin = Linear(len(sizes) * channels, channels)
        self.start: Tensor
        start = torch.tensor([0, *accumulate(sizes[:-1])], dtype=torch.int32)
        self.register_buffer('start', start, persistent=False)

    def reset_parameters(self) -> None:
        reset(self.table)
        reset(self.lin)

    def forward(self, numbers: Tensor) -> Tensor:
        # The tables are small: they go through the map, not the embeddings of all nodes.
        maps = self.lin.weight.view(self.channels, len(self.sizes), self.channels)
        tables = self.table.weight.split(self.sizes)
        mapped = torch.cat([table @ maps[:, i].t() for i, table in enumerate(tables)])
        index = (numbers + self.start).flatten(0, -2)
        out = F.embedding_bag(index, mapped, mode='sum') + self.lin.bias
        return out.view(*numbers.shape[:-1], self.channels)


def closed_embedding(channels: int, structure: KHops, hops: int) -> Embedding | None:
    """Embeds numbers of walks that lead back, if they are told."""
    if not structure.closed_walks or hops == 1:
        return None
    return Embedding(structure.max_walks + 1, channels, padding_idx=0)


def add_closed(x: Tensor, hops: Hops, embedding: Embedding | None) -> Tensor:
    """Adds to what each hop but the first sees the number of walks that lead back."""
    if embedding is None:
        return x
    assert hops.closed is not None
    closed = hops.closed.t()[: x.size(0) - 1]
    return torch.cat([x[:1], x[1:] + embedding(closed)])


def combine_hops(name: str, channels: int, hops: int) -> torch.nn.Module | None:
    """One of :obj:`COMBINE`, if there is anything to combine."""
    if name not in COMBINE:
        raise ValueError(f"'combine' is {name!r}, but must be one of {', '.join(COMBINE)}")
    if hops == 1:
        return None
    return (GeometricCombine if name == 'geometric' else AttentionCombine)(channels, hops)


def two_layers(channels: int, norm: bool, act: Act) -> torch.nn.Sequential:
    """An MLP, with an activation after both of its layers."""
    layers: list[Any] = []
    for _ in range(2):
        layers += [Linear(channels, channels)]
        layers += [BatchNorm1d(channels)] if norm else []
        layers += [activation_resolver(act)]
    return torch.nn.Sequential(*layers)
