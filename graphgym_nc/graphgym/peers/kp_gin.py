"""KP-GIN, KP-GIN+ and KP-GIN', and the layer of the first."""

from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.graphgym import register
from torch_geometric.graphgym.config import cfg
from torch_geometric.graphgym.models.gnn import FeatureEncoder
from torch_geometric.graphgym.models.layer import LayerConfig

from graphgym_nc.graphgym.init import init_weights
from graphgym_nc.graphgym.preparation import prepared, prepares
from graphgym_nc.graphgym.register import register_once
from graphgym_nc.graphgym.validation import ConfigError
from graphgym_nc.nn.peers import KPGIN, KPGINConv
from graphgym_nc.nn.peers._kp_parts import PeripheralEncoder
from graphgym_nc.structures.hops import Hops, KHops
from graphgym_nc.structures.peripheral import Peripheral


def _structure() -> KHops:
    keys = cfg.peers.kp_gin
    limits = Peripheral(keys.max_types, keys.max_edges, keys.levels, keys.max_pairs)
    return KHops(
        keys.hops, keys.kernel, keys.max_walks, keys.edge_types, keys.closed_walks,
        limits if keys.peripheral else None,
    )  # fmt: skip


def _check_width(name: str, width: int, hint: str = '') -> None:
    hops = cfg.peers.kp_gin.hops
    if width % hops:
        raise ConfigError(
            f"{name} is {width}, but must be a multiple of 'peers.kp_gin.hops' ({hops}): "
            f'features are split over hops{hint}'
        )


@register_once(register.network_dict, 'kp_gin')
class KPGINNetwork(torch.nn.Module):
    """A network of KP-GNN, with GraphGym's head: see :class:`graphgym_nc.nn.peers.KPGIN`.

    Args:
        dim_in: The input dimension.
        dim_out: The number of scores.
    """

    def __init__(self, dim_in: int, dim_out: int, **kwargs: Any) -> None:
        super().__init__()
        keys, gnn = cfg.peers.kp_gin, cfg.gnn
        if keys.variant != 'plus':
            _check_width("'gnn.dim_inner'", gnn.dim_inner)
        elif gnn.layers_mp < keys.hops:
            raise ConfigError(
                f"'gnn.layers_mp' is {gnn.layers_mp}, but with 'peers.kp_gin.variant: plus' must "
                f"be at least 'peers.kp_gin.hops' ({keys.hops}): the first layer sees one hop, "
                f'and each that follows one more'
            )
        self.encoder, self.structure = FeatureEncoder(dim_in), _structure()
        self.model = KPGIN(
            self.encoder.dim_in,
            gnn.dim_inner,
            gnn.layers_mp,
            self.structure,
            keys.variant,
            combine=keys.combine,
            jk=keys.jk,
            residual=keys.residual,
            dropout=gnn.dropout,
            norm=gnn.batchnorm,
            act=register.act_dict[gnn.act](),
        )
        self.post_mp = register.head_dict[gnn.head](dim_in=gnn.dim_inner, dim_out=dim_out)
        self.apply(init_weights)

    def forward(self, batch: Data) -> tuple[Tensor, Tensor]:
        batch = prepared(self.encoder(batch), 'hop_counts', self.structure)
        batch.x = self.model(batch.x, _hops_of(batch, self.structure))
        return self.post_mp(batch)


@register_once(register.layer_dict, 'kp_ginconv')
class KPGINConvLayer(torch.nn.Module):
    """A layer of KP-GIN, with an embedding of peripheral subgraphs of its own: see
    :class:`graphgym_nc.nn.peers.KPGINConv`.
    """

    def __init__(self, layer_config: LayerConfig, **kwargs: Any) -> None:
        super().__init__()
        keys, dims, self.structure = cfg.peers.kp_gin, layer_config, _structure()
        _check_width("'gnn.dim_inner'", dims.dim_out)
        hint = "; set 'gnn.layers_pre_mp: 1', or encode them"
        _check_width('the number of input features', dims.dim_in, hint)
        act = register.act_dict[dims.act]()
        self.model = KPGINConv(dims.dim_in, dims.dim_out, self.structure, keys.combine, act=act)
        self.peripheral = None
        if keys.peripheral:
            self.peripheral = PeripheralEncoder(dims.dim_in // keys.hops, self.structure)

    def forward(self, batch: Data) -> Data:
        batch = prepared(batch, 'hop_counts', self.structure)
        hops = _hops_of(batch, self.structure)
        told = None if self.peripheral is None else self.peripheral(hops)
        batch.x = self.model(batch.x, hops, told)
        return batch


def _hops_of(batch: Data, structure: KHops) -> Hops:
    """The neighbours of a batch, put together by the first layer that asks."""
    hops = batch.get('neighbours_at_hops')
    if not isinstance(hops, Hops):
        batch.neighbours_at_hops = hops = Hops.of(batch, structure)
    return hops


prepares('kp_gin', _structure)
prepares('kp_ginconv', _structure)
