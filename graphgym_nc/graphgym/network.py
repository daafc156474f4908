"""Networks for graphs that GraphGym lacks."""

from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.graphgym import register
from torch_geometric.graphgym.config import cfg
from torch_geometric.graphgym.models.gnn import FeatureEncoder, GNNPreMP
from torch_geometric.graphgym.models.layer import MLP, GeneralLayer, new_layer_config

from graphgym_nc.graphgym.init import init_weights
from graphgym_nc.graphgym.layer import twins_alike
from graphgym_nc.graphgym.register import register_once
from graphgym_nc.nn import NCGNNConv
from graphgym_nc.nn._stages import is_plain, only_sums


@register_once(register.network_dict, 'jk_graph')
class JumpingKnowledgeGraphNetwork(torch.nn.Module):
    """Scores a graph by its input and by the output of every layer: each is
    pooled and has a classifier of its own, and their scores are added up.

    It is the network of `"How Powerful are Graph Neural Networks?"
    <https://arxiv.org/abs/1810.00826>`_ (Xu et al., 2019), which calls the input
    the first of its layers. As in its reference implementation,
    :obj:`gnn.dropout` acts on the scores of every layer, and nowhere else.

    Args:
        dim_in: The input dimension.
        dim_out: The number of scores.
    """

    def __init__(self, dim_in: int, dim_out: int, **kwargs: Any) -> None:
        super().__init__()
        width = cfg.gnn.dim_inner
        self.encoder = FeatureEncoder(dim_in)
        self.pre_mp = torch.nn.Identity()
        widths = [self.encoder.dim_in]
        if cfg.gnn.layers_pre_mp > 0:
            self.pre_mp = GNNPreMP(widths[0], width, cfg.gnn.layers_pre_mp)
            widths = [width]
        widths += [width] * cfg.gnn.layers_mp
        self.layers = torch.nn.ModuleList(_layer(dim, width) for dim in widths[:-1])
        self.classifiers = torch.nn.ModuleList(_classifier(dim, dim_out) for dim in widths)
        self.pooling = register.pooling_dict[cfg.model.graph_pooling]
        # What comes before the layers, if anything, may tell nodes apart, and an activation
        # that is not known may draw something for each.
        self.keeps_twins_alike = (
            cfg.gnn.layer_type == 'ncgnnconv'
            and cfg.gnn.act == 'relu'
            and cfg.gnn.layers_pre_mp == 0
            and not cfg.dataset.node_encoder
        )
        self.apply(init_weights)

    def forward(self, batch: Data) -> tuple[Tensor, Tensor]:
        with twins_alike(batch) if self._keeps_twins_alike() else nullcontext():
            batch = self.pre_mp(self.encoder(batch))
            score = self._score(0, batch)
            for i, layer in enumerate(self.layers, start=1):
                batch = layer(batch)
                score = score + self._score(i, batch)
        return score, batch.y

    def _keeps_twins_alike(self) -> bool:
        """Whether nobody, such as an explainer, has a say in any layer."""
        return self.keeps_twins_alike and all(
            is_plain(module)
            and (not isinstance(module, NCGNNConv) or only_sums(module, NCGNNConv))
            for module in self.layers.modules()
        )

    def _score(self, layer: int, batch: Data) -> Tensor:
        pooled = self.pooling(batch.x, batch.batch)
        return F.dropout(self.classifiers[layer](pooled), cfg.gnn.dropout, self.training)


def _layer(dim_in: int, dim_out: int) -> GeneralLayer:
    config = new_layer_config(dim_in, dim_out, 1, has_act=True, has_bias=False, cfg=cfg)
    return GeneralLayer(cfg.gnn.layer_type, replace(config, dropout=0.0))


def _classifier(dim_in: int, dim_out: int) -> MLP:
    number = cfg.gnn.layers_post_mp
    return MLP(new_layer_config(dim_in, dim_out, number, has_act=False, has_bias=True, cfg=cfg))
