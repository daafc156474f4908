"""Trains a network on one of BREC's pairs and tests whether it parts them."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.stats
import torch
import torch.nn.functional as F
from torch import Tensor
from torch_geometric.data import Batch, Data

from graphgym_nc.wl.brec import Pair
from graphgym_nc.wl.graphs import to_data
from graphgym_nc.wl.networks import NETWORKS, network_name


@dataclass(frozen=True)
class Protocol:
    """The settings of BREC's evaluation, by default those of its authors.

    Attributes:
        model: The network to train, one of :obj:`~graphgym_nc.wl.networks.NETWORKS`.
        channels: Its width.
        num_layers: Its number of layers.
        out_channels: The size :math:`d` of an embedding.
        num_copies: The number :math:`q` of randomly permuted copies of a pair.
        batch_size: The number of pairs per step.
        max_epochs: The largest number of epochs.
        lr: The learning rate.
        weight_decay: The weight decay.
        loss_threshold: Training ends once an epoch's loss is below.
        confidence: That of the test for a difference.
        seed: Determines weights and permutations, for each pair on its own.
    """

    model: str = 'nc'
    channels: int = 32
    num_layers: int = 5
    out_channels: int = 16
    num_copies: int = 32
    batch_size: int = 8
    max_epochs: int = 20
    lr: float = 1e-4
    weight_decay: float = 1e-4
    loss_threshold: float = 0.2
    confidence: float = 0.95
    seed: int = 0

    def __post_init__(self) -> None:
        network_name(self.model)
        for name in ('channels', 'num_layers', 'out_channels', 'batch_size', 'max_epochs'):
            if getattr(self, name) < 1:
                raise ValueError(f"'{name}' must be positive (got {getattr(self, name)})")
        if self.num_copies <= self.out_channels:
            raise ValueError(
                f"the test needs more copies than channels ('num_copies' is {self.num_copies}, "
                f"'out_channels' is {self.out_channels})"
            )

    @classmethod
    def of(cls, model: str = 'nc', **settings: Any) -> 'Protocol':
        """The settings for a network, by default those of its authors."""
        return cls(model, **(NETWORKS[network_name(model)].trained | settings))

    @property
    def threshold(self) -> float:
        r"""The value that Hotelling's :math:`T^2` of equal graphs stays below,
        with the given confidence: :math:`\frac{(q - 1) d}{q - d} F_{d, q - d}`.
        """
        q, d = self.num_copies, self.out_channels
        return (q - 1) * d / (q - d) * float(scipy.stats.f.ppf(self.confidence, d, q - d))


class PairResult(NamedTuple):
    """What training on a pair came to.

    Attributes:
        t_squared: The test statistic between the graphs of the pair.
        t_squared_copies: The same between copies of one of them.
        loss: The last epoch's loss.
        epochs: The number of epochs.
    """

    t_squared: float
    t_squared_copies: float
    loss: float
    epochs: int


def train_pair(pair: Pair, protocol: Protocol, key: tuple[int, ...] = ()) -> PairResult:
    """Trains a new network to tell the graphs of a pair apart, and tests it.

    The loss is the cosine similarity between the embeddings of the two
    graphs. In double precision, for the test is about differences that must
    not be mistaken for rounding.

    Args:
        pair: The pair.
        protocol: The settings.
        key: Numbers that name the pair, to seed it independently of others.
    """
    seed, permutations = np.random.SeedSequence([protocol.seed, *key]).generate_state(2)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(seed))
        network = NETWORKS[network_name(protocol.model)]
        encoder = network.build(
            channels=protocol.channels,
            num_layers=protocol.num_layers,
            activation=torch.nn.SiLU,
            out_channels=protocol.out_channels,
        ).double()
    rng = np.random.default_rng(permutations)
    g, h = (to_data(graph) for graph in pair)
    copies_g, copies_h, copies_again = (
        [_permuted(graph, rng) for _ in range(protocol.num_copies)] for graph in (g, h, g)
    )

    loss, epochs = _train(encoder, _batches(copies_g, copies_h, protocol.batch_size), protocol)
    with torch.no_grad():
        z_g, z_h, z_again = (
            encoder(Batch.from_data_list(copies)) for copies in (copies_g, copies_h, copies_again)
        )
    return PairResult(t_squared(z_g, z_h), t_squared(z_g, z_again), loss, epochs)


def t_squared(first: Tensor, second: Tensor, rounding: float = 1e-9) -> float:
    r"""Hotelling's :math:`T^2` of paired embeddings, of shape :obj:`[q, d]`.

    .. math::
        T^2 = q \, \bar{\mathbf{d}}^{\top} (\mathbf{S} + \delta^2
        \mathbf{I})^{-1} \bar{\mathbf{d}}

    with mean :math:`\bar{\mathbf{d}}` and covariance :math:`\mathbf{S}` of the
    differences. Embeddings of copies differ by rounding alone, so that
    :math:`\mathbf{S}` is next to singular; :math:`\delta` is :obj:`rounding`
    times the size of the embeddings, and keeps differences of the order of
    rounding from counting.
    """
    difference = first - second
    mean = difference.mean(dim=0)
    delta = rounding * torch.maximum(first.abs().max(), second.abs().max())
    ridge = delta.square().clamp(min=torch.finfo(first.dtype).tiny)
    covariance = difference.T.cov() + ridge * torch.eye(mean.numel(), dtype=mean.dtype)
    return float(difference.size(0) * mean @ torch.linalg.solve(covariance, mean))


def _train(
    encoder: torch.nn.Module, batches: list[Batch], protocol: Protocol
) -> tuple[float, int]:
    optimizer = torch.optim.Adam(
        encoder.parameters(), lr=protocol.lr, weight_decay=protocol.weight_decay
    )
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer)
    mean_loss, epochs = float('nan'), 0
    while epochs < protocol.max_epochs:
        epochs, total = epochs + 1, 0.0
        for batch in batches:
            optimizer.zero_grad()
            z_g, z_h = encoder(batch).chunk(2)
            loss = F.cosine_similarity(z_g, z_h).clamp(min=0).mean()
            loss.backward()
            optimizer.step()
            total += float(loss.detach()) * z_g.size(0)
        mean_loss = total / protocol.num_copies
        if mean_loss < protocol.loss_threshold:
            break
        scheduler.step(mean_loss)
    return mean_loss, epochs


def _batches(first: list[Data], second: list[Data], size: int) -> list[Batch]:
    """Batches of :obj:`size` pairs: the first graph of each, then the second."""
    return [
        Batch.from_data_list(first[i : i + size] + second[i : i + size])
        for i in range(0, len(first), size)
    ]


def _permuted(graph: Data, rng: np.random.Generator) -> Data:
    assert graph.edge_index is not None
    permutation = torch.from_numpy(rng.permutation(graph.num_nodes))
    return Data(edge_index=permutation[graph.edge_index], num_nodes=graph.num_nodes)
