"""The Structure-Aware Transformer, as GraphGym knows it."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn import BatchNorm1d, Identity
from torch_geometric.data import Data
from torch_geometric.graphgym import register
from torch_geometric.graphgym.config import cfg
from torch_geometric.graphgym.models.gnn import FeatureEncoder, GNNPreMP
from torch_geometric.graphgym.models.layer import LayerConfig, new_layer_config
from torch_geometric.nn import MLP, PNAConv
from torch_geometric.transforms import BaseTransform

from graphgym_nc.graphgym.peers.head import check_layers, check_task, of_split
from graphgym_nc.graphgym.preparation import composed, is_prepared, prepared, prepares
from graphgym_nc.graphgym.register import register_once
from graphgym_nc.graphgym.validation import ConfigError, check_peers
from graphgym_nc.nn.peers import SAT, SATConv, SubgraphExtractor, SubtreeExtractor
from graphgym_nc.structures.random_walks import RandomWalks
from graphgym_nc.structures.subgraphs import EgoNets, Subgraphs

_EXTRACTORS = {'subtree': SubtreeExtractor, 'subgraph': SubgraphExtractor}


class _PNALayer(torch.nn.Module):
    """Mean, sum and maximum of what an MLP says of a node and each of its neighbours."""

    def __init__(self, layer_config: LayerConfig, towers: int) -> None:
        super().__init__()
        if layer_config.dim_in % towers or layer_config.dim_out % towers:
            raise ConfigError(
                f"'gnn.dim_inner' is {layer_config.dim_out}, but 'gnn.layer_type: pna2conv' has "
                f'{towers} towers: take a multiple of {towers}, or pna3conv'
            )
        self.model = PNAConv(
            layer_config.dim_in, layer_config.dim_out, ['mean', 'sum', 'max'], ['identity'],
            deg=torch.ones(2),  # only other scalers ask for degrees
            towers=towers, divide_input=towers > 1,
        )  # fmt: skip

    def forward(self, batch: Data) -> Data:
        batch.x = self.model(batch.x, batch.edge_index)
        return batch


@register_once(register.layer_dict, 'pna2conv')
class PNA2ConvLayer(_PNALayer):
    """The PNA that SAT takes for CLUSTER: four towers, each on its share of the channels."""

    def __init__(self, layer_config: LayerConfig, **kwargs: Any) -> None:
        super().__init__(layer_config, towers=4)


@register_once(register.layer_dict, 'pna3conv')
class PNA3ConvLayer(_PNALayer):
    """The PNA that SAT takes for PATTERN: a single tower on all channels."""

    def __init__(self, layer_config: LayerConfig, **kwargs: Any) -> None:
        super().__init__(layer_config, towers=1)


class _Inner(torch.nn.Module):
    """A layer as extractors call it, which gives it the features of every call anew."""

    def __init__(self) -> None:
        super().__init__()
        width = cfg.gnn.dim_inner
        config = new_layer_config(width, width, 1, has_act=False, has_bias=True, cfg=cfg)
        self.layer = register.layer_dict[cfg.gnn.layer_type](config)

    def forward(self, x: Tensor, graph: Data) -> Tensor:
        graph.x = x
        return self.layer(graph).x


@register_once(register.network_dict, 'sat')
class SATNetwork(torch.nn.Module):
    """The Structure-Aware Transformer, for tasks on nodes and graphs: see
    :class:`graphgym_nc.nn.peers.SAT`.

    It has :obj:`gnn.layers_mp` layers and :obj:`gnn.layers_post_mp` Linear layers after them, and
    :obj:`gnn.batchnorm`, :obj:`gnn.dropout` and :obj:`gnn.act` wherever SAT has such. Extractors
    run :obj:`gnn.layer_type`. Weights are PyTorch's; those of queries, keys and values are SAT's.

    Args:
        dim_in: The input dimension.
        dim_out: The number of scores.
    """

    def __init__(self, dim_in: int, dim_out: int, **kwargs: Any) -> None:
        super().__init__()
        _check()
        self.on_subgraphs, self.transform = cfg.peers.sat.extractor == 'subgraph', _transform()
        self.encoder = FeatureEncoder(dim_in)
        width = self.encoder.dim_in
        self.pre_mp: torch.nn.Module = Identity()
        if cfg.gnn.layers_pre_mp > 0:
            self.pre_mp = GNNPreMP(width, cfg.gnn.dim_inner, cfg.gnn.layers_pre_mp)
            width = cfg.gnn.dim_inner
        of_graphs = cfg.dataset.task == 'graph'
        hidden = [cfg.gnn.dim_inner] * max(cfg.gnn.layers_post_mp, 1)
        self.model = SAT(
            width,
            [_conv() for _ in range(cfg.gnn.layers_mp)],
            MLP([*hidden, dim_out], act=register.act_dict[cfg.gnn.act](), norm=None),
            cfg.peers.sat.walk_length,
            cfg.peers.sat.degree_scale,
            register.pooling_dict[cfg.model.graph_pooling] if of_graphs else None,
        )

    def forward(self, batch: Data) -> tuple[Tensor, Tensor]:
        batch = self.pre_mp(self.encoder(batch))
        if self.transform is not None:
            attribute = 'sub_index' if self.on_subgraphs else 'random_walk_pe'
            batch = prepared(batch, attribute, self.transform)
        score = self.model(
            batch.x, batch.edge_index, batch.batch, batch.get('random_walk_pe'),
            _subgraphs(batch) if self.on_subgraphs else [batch], getattr(batch, 'num_graphs', 1),
        )  # fmt: skip
        return of_split(batch, score)


def _conv() -> SATConv:
    keys, width, act = cfg.peers.sat, cfg.gnn.dim_inner, register.act_dict[cfg.gnn.act]
    norm: Callable[[int], torch.nn.Module] = Identity
    if cfg.gnn.batchnorm:
        norm = partial(BatchNorm1d, eps=cfg.bn.eps, momentum=cfg.bn.mom)
    extractor = _EXTRACTORS[keys.extractor]([_Inner() for _ in range(keys.k)], width, act, norm)
    return SATConv(extractor, width, keys.heads, cfg.gnn.dropout, act, norm)


def _subgraphs(batch: Data) -> list[Any]:
    """What :class:`~graphgym_nc.nn.peers.SubgraphExtractor` takes, with the subgraphs as a graph
    of their own.
    """
    subgraphs = Subgraphs.of(batch)
    graph = Data(edge_index=subgraphs.edge_index, num_nodes=subgraphs.num_rows)
    if batch.get('edge_attr') is not None:
        graph.edge_attr = batch.edge_attr[subgraphs.edge]
    return [subgraphs.index, subgraphs.root_index, graph]


def _check() -> None:
    check_peers(cfg)
    check_task()
    check_layers()
    if cfg.gnn.dim_inner % cfg.peers.sat.heads:
        raise ConfigError(
            f"'gnn.dim_inner' is {cfg.gnn.dim_inner}, but must be a multiple of "
            f"'peers.sat.heads', {cfg.peers.sat.heads}"
        )
    if cfg.peers.sat.extractor == 'subgraph' and is_prepared(cfg.gnn.layer_type):
        raise ConfigError(
            f"'gnn.layer_type' is '{cfg.gnn.layer_type}', which needs more of a graph than its "
            f"edges; with 'peers.sat.extractor: subgraph' it would need that of subgraphs: take "
            f'another layer, or subtree'
        )


def _transform() -> BaseTransform | None:
    keys = cfg.peers.sat
    transforms: list[BaseTransform] = [RandomWalks(keys.walk_length)] if keys.walk_length else []
    if keys.extractor == 'subgraph':
        transforms.append(EgoNets(keys.k))
    return composed(transforms) if transforms else None


prepares('sat', _transform)
