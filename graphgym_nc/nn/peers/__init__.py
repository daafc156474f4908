"""The systems that NC-GNN is compared with, as layers and models for any PyG user."""

from graphgym_nc.nn.peers.kp_gin import EdgeTypeGINConv, KPGINConv, KPGINPlusConv
from graphgym_nc.nn.peers.kp_gin_network import KPGIN

__all__ = ['KPGIN', 'EdgeTypeGINConv', 'KPGINConv', 'KPGINPlusConv']
