"""Prediction heads that GraphGym lacks."""

from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.graphgym import register
from torch_geometric.graphgym.models.head import GNNNodeHead

from graphgym_nc.graphgym.register import register_once


@register_once(register.head_dict, 'inductive_node')
class InductiveNodeHead(GNNNodeHead):
    """Predicts every node of a batch of graphs, where GraphGym's own head
    looks for a mask of each split's nodes.
    """

    def _apply_index(self, batch: Data) -> tuple[Tensor, Tensor]:
        return batch.x, batch.y
