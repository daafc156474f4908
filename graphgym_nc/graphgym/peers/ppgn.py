"""PPGN, as GraphGym knows it."""

from typing import Any

from torch_geometric.graphgym import register
from torch_geometric.graphgym.config import cfg

from graphgym_nc.graphgym.peers.dense import DenseNetwork
from graphgym_nc.graphgym.preparation import keeps_pairs
from graphgym_nc.graphgym.register import register_once
from graphgym_nc.nn.peers import PPGN


@register_once(register.network_dict, 'ppgn')
class PPGNNetwork(DenseNetwork):
    """See :class:`graphgym_nc.nn.peers.PPGN`.

    Args:
        dim_in: The input dimension.
        dim_out: The number of scores.
    """

    def __init__(self, dim_in: int, dim_out: int, **kwargs: Any) -> None:
        super().__init__(dim_in)
        keys = cfg.peers.ppgn
        self.model = PPGN(
            self.encoder.dim_in,
            cfg.gnn.dim_inner,
            dim_out,
            cfg.gnn.layers_mp,
            keys.mlp_layers,
            readout='node' if self.for_nodes else keys.readout,
            inputs=keys.inputs,
            act=register.act_dict[cfg.gnn.act](),
        )


def _bytes_per_pair() -> int:
    """Every layer of both MLPs, their product, and the output of every block."""
    matrices = 2 * cfg.peers.ppgn.mlp_layers + 2
    return 4 * matrices * cfg.gnn.dim_inner * cfg.gnn.layers_mp


keeps_pairs('ppgn', _bytes_per_pair)
