"""Networks that GraphGym lacks."""

from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import torch
import torch.nn.functional as F
import torch_geometric.nn
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.graphgym import register
from torch_geometric.graphgym.config import cfg
from torch_geometric.graphgym.models.gnn import FeatureEncoder, GNNPreMP
from torch_geometric.graphgym.models.layer import MLP, GeneralLayer, new_layer_config

from graphgym_nc.graphgym.encoder import LinearNodeEncoder
from graphgym_nc.graphgym.init import init_weights
from graphgym_nc.graphgym.layer import twins_alike
from graphgym_nc.graphgym.register import register_once
from graphgym_nc.nn import NCGNNConv
from graphgym_nc.nn._stages import is_plain, only_sums


class _Network(torch.nn.Module):
    """Encoder and layers: what the networks below have in common.

    With :obj:`gnn.stage_type: skipsum`, the input of every layer is added to its output.

    Args:
        dim_in: The input dimension.
    """

    def __init__(self, dim_in: int) -> None:
        super().__init__()
        width = cfg.gnn.dim_inner
        self.encoder = FeatureEncoder(dim_in)
        self.pre_mp = torch.nn.Identity()
        self.widths = [self.encoder.dim_in]
        if cfg.gnn.layers_pre_mp > 0:
            self.pre_mp = GNNPreMP(self.widths[0], width, cfg.gnn.layers_pre_mp)
            self.widths = [width]
        self.widths += [width] * cfg.gnn.layers_mp
        self.layers = torch.nn.ModuleList(_layer(dim, width) for dim in self.widths[:-1])
        self.residual = cfg.gnn.stage_type == 'skipsum'

    def outputs(self, batch: Data, dropout: float = 0.0) -> list[Tensor]:
        """The input of the first layer, and the output of every layer."""
        batch = self.pre_mp(self.encoder(batch))
        outputs = [batch.x]
        for layer in self.layers:
            batch = layer(batch)
            if self.residual:
                batch.x = batch.x + outputs[-1]
            batch.x = F.dropout(batch.x, dropout, self.training)
            outputs.append(batch.x)
        return outputs


class _GraphNetwork(_Network):
    """A network whose layers are pooled over the nodes of every graph."""

    def __init__(self, dim_in: int) -> None:
        super().__init__(dim_in)
        self.kernel = cfg.nc.kernel
        self.pooling = register.pooling_dict[cfg.model.graph_pooling]
        encoder = register.node_encoder_dict.get(cfg.dataset.node_encoder_name)
        # What comes before the layers, if anything but a linear map, may tell nodes apart, and an
        # activation that is not known may draw something for each.
        self.keeps_twins_alike = (
            cfg.gnn.layer_type == 'ncgnnconv'
            and cfg.gnn.act == 'relu'
            and cfg.gnn.layers_pre_mp == 0
            and (not cfg.dataset.node_encoder or encoder is LinearNodeEncoder)
        )

    def pooled(self, batch: Data) -> list[Tensor]:
        """The input of the first layer and the output of every layer, pooled."""
        with twins_alike(batch, self.kernel) if self._keeps_twins_alike() else nullcontext():
            return [self.pooling(x, batch.batch) for x in self.outputs(batch)]

    def _keeps_twins_alike(self) -> bool:
        """Whether nobody, such as an explainer, has a say in any layer."""
        return self.keeps_twins_alike and all(
            is_plain(module)
            and (not isinstance(module, NCGNNConv) or only_sums(module, NCGNNConv))
            for part in (self.encoder, self.layers)
            for module in part.modules()
        )


@register_once(register.network_dict, 'jk_graph')
class JumpingKnowledgeGraphNetwork(_GraphNetwork):
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
        super().__init__(dim_in)
        self.classifiers = torch.nn.ModuleList(_classifier(dim, dim_out) for dim in self.widths)
        self.apply(init_weights)

    def forward(self, batch: Data) -> tuple[Tensor, Tensor]:
        scores = [
            F.dropout(classifier(pooled), cfg.gnn.dropout, self.training)
            for classifier, pooled in zip(self.classifiers, self.pooled(batch), strict=True)
        ]
        return torch.stack(scores).sum(dim=0), batch.y


@register_once(register.network_dict, 'jk_concat_graph')
class JumpingKnowledgeConcatGraphNetwork(_GraphNetwork):
    """Scores a graph by the output of the encoder, if there is one, and of every layer:
    they are pooled, concatenated, and put through :obj:`gnn.layers_post_mp` Linear layers.

    With two of them, it is the network that PyG's benchmark of graph classification calls
    ``GINWithJK``. :obj:`gnn.dropout` acts between the Linear layers, and nowhere else.

    Args:
        dim_in: The input dimension.
        dim_out: The number of scores.
    """

    def __init__(self, dim_in: int, dim_out: int, **kwargs: Any) -> None:
        super().__init__(dim_in)
        self.first = 0 if cfg.dataset.node_encoder or cfg.gnn.layers_pre_mp > 0 else 1
        hidden = [cfg.gnn.dim_inner] * (cfg.gnn.layers_post_mp - 1)
        self.classifier = torch_geometric.nn.MLP(
            [sum(self.widths[self.first :]), *hidden, dim_out],
            dropout=cfg.gnn.dropout,
            act=register.act_dict[cfg.gnn.act](),
            norm=None,
        )
        self.apply(init_weights)

    def forward(self, batch: Data) -> tuple[Tensor, Tensor]:
        pooled = self.pooled(batch)[self.first :]
        return self.classifier(torch.cat(pooled, dim=-1)), batch.y


@register_once(register.network_dict, 'jk_node')
class JumpingKnowledgeNodeNetwork(_Network):
    """Scores a node by its encoded features and by the output of every layer: each has a
    classifier of its own, and their scores are added up.

    With :obj:`gnn.stage_type: skipsum`, it is the network around GIN in `"Benchmarking Graph
    Neural Networks" <https://arxiv.org/abs/2003.00982>`_ (Dwivedi et al., 2020).
    :obj:`gnn.dropout` acts on the output of every layer.

    Args:
        dim_in: The input dimension.
        dim_out: The number of scores.
    """

    def __init__(self, dim_in: int, dim_out: int, **kwargs: Any) -> None:
        super().__init__(dim_in)
        self.classifiers = torch.nn.ModuleList(_classifier(dim, dim_out) for dim in self.widths)
        self.apply(init_weights)

    def forward(self, batch: Data) -> tuple[Tensor, Tensor]:
        outputs = self.outputs(batch, cfg.gnn.dropout)
        scores = [classify(x) for classify, x in zip(self.classifiers, outputs, strict=True)]
        score, mask = torch.stack(scores).sum(dim=0), batch.get(f'{batch.get("split")}_mask')
        return (score, batch.y) if mask is None else (score[mask], batch.y[mask])


def _layer(dim_in: int, dim_out: int) -> GeneralLayer:
    config = new_layer_config(dim_in, dim_out, 1, has_act=True, has_bias=False, cfg=cfg)
    return GeneralLayer(cfg.gnn.layer_type, replace(config, dropout=0.0))


def _classifier(dim_in: int, dim_out: int) -> MLP:
    number = cfg.gnn.layers_post_mp
    return MLP(new_layer_config(dim_in, dim_out, number, has_act=False, has_bias=True, cfg=cfg))
