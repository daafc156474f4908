"""GIN-AK and GIN-AK+, as GraphGym knows them."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.graphgym import register
from torch_geometric.graphgym.config import cfg
from torch_geometric.graphgym.models.layer import LayerConfig
from torch_geometric.nn import MLP
from torch_geometric.transforms import BaseTransform

from graphgym_nc.graphgym.init import init_weights
from graphgym_nc.graphgym.layer import neighbours_of
from graphgym_nc.graphgym.network import _Network
from graphgym_nc.graphgym.peers.head import check_task, predict
from graphgym_nc.graphgym.preparation import composed, prepared, prepares
from graphgym_nc.graphgym.register import register_once
from graphgym_nc.graphgym.validation import ConfigError
from graphgym_nc.nn.peers import GINAKConv
from graphgym_nc.structures.subgraph_drop import SubgraphDrop
from graphgym_nc.structures.subgraphs import EgoNets, Subgraphs, WalkSubgraphs


def _transform() -> BaseTransform:
    options = cfg.peers.gin_ak
    find: BaseTransform = EgoNets(options.hops)
    if options.walk_length > 0:
        find = WalkSubgraphs(options.walk_length, options.walk_repeat)
    return composed([find, SubgraphDrop(options.redundancy)] if options.redundancy > 0 else [find])


prepares('gin_akconv', _transform)


@register_once(register.layer_dict, 'gin_akconv')
class GINAKLayer(torch.nn.Module):
    """A layer of GIN-AK or GIN-AK+: see :class:`graphgym_nc.nn.peers.GINAKConv`. It pools
    subgraphs by :obj:`model.graph_pooling`, as the authors do.
    """

    def __init__(self, layer_config: LayerConfig, **kwargs: Any) -> None:
        super().__init__()
        options = cfg.peers.gin_ak
        self.dropped, self.transform = options.redundancy > 0, _transform()
        self.edge_dim = None
        if options.edge_features:
            encoded = cfg.dataset.edge_encoder
            self.edge_dim = cfg.gnn.dim_inner if encoded else layer_config.edge_dim
        self.model = GINAKConv(
            layer_config.dim_in,
            layer_config.dim_out,
            hop_channels=options.hop_dim,
            context=options.context,
            num_layers=options.inner_layers,
            mlp_layers=options.mlp_layers,
            combine=options.combine,
            pooling=cfg.model.graph_pooling,
            parallel=options.parallel,
            edge_dim=self.edge_dim,
            edge_types=options.edge_types,
            dropout=cfg.gnn.dropout,
            act=register.act_dict[layer_config.act](),
        )

    def forward(self, batch: Data) -> Data:
        prefix = 'drop' if self.dropped and self.training else 'sub'
        batch = prepared(batch, f'{prefix}_index', self.transform)
        subgraphs = _subgraphs_of(batch, prefix)
        adjacency = edge_attr = None
        if self.edge_dim is None:
            adjacency = neighbours_of(batch)
        elif batch.get('edge_attr') is None:
            raise ConfigError(
                "'peers.gin_ak.edge_features' is True, but the graphs have none: set it to False"
            )
        else:
            edge_attr = batch.edge_attr.view(batch.num_edges, -1).to(batch.x.dtype)
        batch.x = self.model(batch.x, batch.edge_index, subgraphs, edge_attr, adjacency)
        return batch


def _subgraphs_of(batch: Data, prefix: str) -> Subgraphs:
    """The subgraphs of a batch, with all that the layers before have found of them."""
    kept = batch.get('subgraphs')
    if not isinstance(kept, Subgraphs) or kept.index is not batch[f'{prefix}_index']:
        batch.subgraphs = kept = Subgraphs.of(batch, prefix)
    return kept


@register_once(register.network_dict, 'gin_ak')
class GINAKNetwork(_Network):
    """Layers of :obj:`gin_akconv`, each with BatchNorm (:obj:`gnn.batchnorm`), activation, dropout
    and (:obj:`gnn.stage_type: skipsum`) a residual connection. What :obj:`gnn.layers_post_mp`
    Linear layers, with BatchNorm between them, make of the last one's output scores nodes or,
    pooled, graphs.

    Args:
        dim_in: The input dimension.
        dim_out: The number of scores.
    """

    def __init__(self, dim_in: int, dim_out: int, **kwargs: Any) -> None:
        check_task()
        if cfg.gnn.layer_type != 'gin_akconv':
            raise ConfigError(
                f"'gnn.layer_type' is '{cfg.gnn.layer_type}', but must be 'gin_akconv' with "
                f"'model.type: gin_ak'"
            )
        super().__init__(dim_in)
        hidden = [cfg.gnn.dim_inner] * cfg.gnn.layers_post_mp
        mlp = MLP(
            [*hidden, dim_out],
            act=register.act_dict[cfg.gnn.act](),
            bias=[*[False] * (len(hidden) - 1), True],
        )
        self.classifier = torch.nn.Sequential(torch.nn.Dropout(cfg.gnn.dropout), mlp)
        self.apply(init_weights)
        if cfg.peers.gin_ak.idle_norms:
            self._add_idle_norms()

    def forward(self, batch: Data) -> tuple[Tensor, Tensor]:
        batch = self.pre_mp(self.encoder(batch))
        for layer in self.layers:
            before = batch.x
            batch = layer(batch)
            batch.x = F.dropout(batch.x, cfg.gnn.dropout, self.training)
            if self.residual:
                batch.x = batch.x + before
        return predict(batch, batch.x, self.classifier)

    def _add_idle_norms(self) -> None:
        for module in [*self.modules()]:
            if isinstance(module, MLP) and module.plain_last:
                norm = torch.nn.BatchNorm1d(module.out_channels)
                module.idle_norm = norm.requires_grad_(False)


@register_once(register.node_encoder_dict, 'BinaryNode')
class BinaryNodeEncoder(torch.nn.Module):
    """The sum of a learned vector for each column of the features: one for 0, another for 1."""

    def __init__(self, emb_dim: int) -> None:
        super().__init__()
        self.encoder = torch.nn.Embedding(2 * cfg.share.dim_in, emb_dim)

    def forward(self, batch: Data) -> Data:
        zero, one = self.encoder.weight.chunk(2)
        batch.x = batch.x @ one + (1 - batch.x) @ zero
        return batch
