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
from graphgym_nc.wl.peers.dense import ppgn, ring_gnn
from graphgym_nc.wl.peers.eb_gnn import EBGNNEncoder
from graphgym_nc.wl.peers.graph_snn import GraphSNNEncoder
from graphgym_nc.wl.peers.k123 import SetEncoder
from graphgym_nc.wl.peers.kp_gin import KPGINEncoder
from graphgym_nc.wl.peers.sat import SATEncoder
from graphgym_nc.wl.peers.subgraphs import AKEncoder, NestedEncoder

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
    'graph_snn': Network('GraphSNN', GraphSNNEncoder),
    'nested_gin': Network(
        'NGNN',
        NestedEncoder,
        {
            'channels': 16,
            'num_layers': 6,
            'batch_size': 16,
            'max_epochs': 30,
            'weight_decay': 1e-5,
            'loss_threshold': 0.01,
        },
    ),
    'gin_ak': Network('GIN-AK', partial(AKEncoder, hop_channels=0, context=False)),
    'gin_ak_plus': Network(
        'GIN-AK+',
        partial(AKEncoder, hops=6),
        {
            'num_layers': 4,
            'batch_size': 16,
            'max_epochs': 10,
            'weight_decay': 1e-5,
            'loss_threshold': 0.1,
        },
    ),
    'kp_gin': Network(
        'KP-GIN',
        KPGINEncoder,
        {'channels': 32, 'num_layers': 8, 'batch_size': 16, 'loss_threshold': 0.3},
    ),
    'eb_gnn': Network('EB-GNN', EBGNNEncoder, {'channels': 16, 'num_layers': 9}),
    'ppgn': Network('PPGN', ppgn, {'channels': 32, 'num_layers': 5, 'lr': 1e-4, 'batch_size': 32}),
    'ring_gnn': Network('RingGNN', ring_gnn),
    'sin': Network('SIN', partial(CellEncoder, 3)),
    'cin': Network('CIN', partial(CellEncoder, 6)),
    'sat': Network('SAT', SATEncoder),
    'sat_walks': Network('SAT with random walks', partial(SATEncoder, walk_length=8)),
    'sat_subgraph': Network('K-subgraph SAT', partial(SATEncoder, subgraphs=True)),
    'sat_subgraph_walks': Network(
        'K-subgraph SAT with random walks', partial(SATEncoder, subgraphs=True, walk_length=8)
    ),
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
