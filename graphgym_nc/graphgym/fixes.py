"""What is put right in GraphGym's own modules."""

import torch
from torch_geometric.graphgym.config import cfg
from torch_geometric.graphgym.models.gnn import FeatureEncoder
from torch_geometric.graphgym.models.layer import BatchNorm1dEdge, GeneralLayer, LayerConfig


def mend(model: torch.nn.Module) -> None:
    """Puts right what GraphGym's networks do, whatever the configuration says:
    they L2-normalise the hidden layers of every head (`MLP` in
    graphgym/models/layer.py), and normalise nodes in place of encoded edges
    (`FeatureEncoder` in graphgym/models/gnn.py).
    """
    for module in model.modules():
        if isinstance(module, GeneralLayer):
            module.has_l2norm = cfg.gnn.l2norm
        if isinstance(module, FeatureEncoder) and hasattr(module, 'edge_encoder_bn'):
            layer_config = LayerConfig(
                dim_in=cfg.gnn.dim_inner, bn_eps=cfg.bn.eps, bn_mom=cfg.bn.mom
            )
            module.edge_encoder_bn = BatchNorm1dEdge(layer_config)
