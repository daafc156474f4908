"""Networks that embed graphs by their structure alone: all systems, in one table."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Batch

from graphgym_nc.wl.encoder import GraphEncoder
from graphgym_nc.wl.graphs import GraphLike, to_data
from graphgym_nc.wl.peers.cin import CellEncoder
from graphgym_nc.wl.peers.k123 import SetEncoder

_CHUNK = 128


@dataclass(frozen=True)
class Network:
    """How to make a network that embeds graphs.

    Attributes:
        title: Its name in tables.
        build: Makes the network: a module that takes a batch of graphs without features and gives
            embeddings of shape :obj:`[num_graphs, out_channels]`, without any normalisation.
            Arguments are :obj:`channels`, :obj:`num_layers`, :obj:`activation` (the class of a
            module), :obj:`out_channels` (or :obj:`None` for as many as there are, without a
            last linear layer).
        trained: Settings under BREC's protocol, where its authors have others than the
            protocol's own.
    """

    title: str
    build: Callable[..., torch.nn.Module]
    trained: dict[str, Any] = field(default_factory=dict)


def _encoder(**options: Any) -> Callable[..., torch.nn.Module]:
    return lambda **arguments: GraphEncoder(**options, **arguments)


#: All networks, by the name that commands and configurations know.
NETWORKS: dict[str, Network] = {
    'gin': Network('GIN', _encoder(communicate=None)),
    'nc': Network('NC-GNN', _encoder()),
    'nc_lean': Network('lean NC-GNN', _encoder(communicate=(1, 'sqrt'))),
    'nc_mean': Network('NC-GNN with the mean', _encoder(communicate=(2, 'mean'))),
    'sin': Network('SIN', partial(CellEncoder, 3)),
    'cin': Network('CIN', partial(CellEncoder, 6)),
    'k123': Network('1-2-3-GNN', SetEncoder),
}

#: Names that these networks had before.
_FORMER = {'nc-gnn': 'nc', 'nc-gnn-lean': 'nc_lean', 'nc-gnn-mean': 'nc_mean'}


def network_name(name: str) -> str:
    """The name of a network, for one that it may have had before.

    Raises:
        ValueError: If there is no such network.
    """
    name = _FORMER.get(name, name)
    if name not in NETWORKS:
        raise ValueError(f"unknown network '{name}' (allowed are {', '.join(NETWORKS)})")
    return name


def random_embeddings(graphs: Sequence[GraphLike], name: str, seed: int = 0) -> Tensor:
    r"""Embeds graphs by a network of random weights, in double precision.

    Some networks can part exactly the graphs that an algorithm parts: a GIN those of 1-WL, and (by
    Theorem 3 of the paper) an NC-GNN those of NC-1-WL. Analytic networks with random weights do so
    almost surely: graphs that the algorithm does not part get the same embedding up to rounding,
    and all others do not.

    Args:
        graphs: The graphs, without regard to their features.
        name: One of :obj:`NETWORKS`.
        seed: Determines the weights.

    Returns:
        The embeddings, of shape :obj:`[num_graphs, channels]`.
    """
    network = NETWORKS[network_name(name)].build().double()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        # Large enough for differences between graphs not to vanish from layer
        # to layer, and bounded by the tanh, so that rounding does not grow.
        for parameter in network.parameters():
            std = 1.5 * parameter.size(-1) ** -0.5 if parameter.dim() > 1 else 1.0
            parameter.normal_(std=std, generator=generator)
        data = [to_data(graph) for graph in graphs]
        chunks = [data[i : i + _CHUNK] for i in range(0, len(data), _CHUNK)]
        return torch.cat([network(Batch.from_data_list(chunk)) for chunk in chunks])
