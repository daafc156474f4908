"""RingGNN, as GraphGym knows it."""

from typing import Any

from torch_geometric.graphgym import register
from torch_geometric.graphgym.config import cfg

from graphgym_nc.graphgym.peers.dense import DenseNetwork
from graphgym_nc.graphgym.preparation import keeps_pairs
from graphgym_nc.graphgym.register import register_once
from graphgym_nc.nn.peers import RingGNN


@register_once(register.network_dict, 'ring_gnn')
class RingGNNNetwork(DenseNetwork):
    """See :class:`graphgym_nc.nn.peers.RingGNN`.

    Args:
        dim_in: The input dimension.
        dim_out: The number of scores.
    """

    def __init__(self, dim_in: int, dim_out: int, **kwargs: Any) -> None:
        super().__init__(dim_in)
        keys = cfg.peers.ring_gnn
        self.model = RingGNN(
            self.encoder.dim_in,
            cfg.gnn.dim_inner,
            dim_out,
            cfg.gnn.layers_mp,
            keys.num_nodes,
            [keys.readout_width] if keys.readout_width else None,
            for_nodes=self.for_nodes,
            inputs=keys.inputs,
        )


def _bytes_per_pair() -> int:
    """All three combinations of the maps, the product, and the output of every layer."""
    return 4 * 5 * cfg.gnn.dim_inner * cfg.gnn.layers_mp


keeps_pairs('ring_gnn', _bytes_per_pair)
