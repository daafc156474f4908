"""The systems that NC-GNN is compared with, as layers and models for any PyG user."""

from graphgym_nc.nn.peers.gin_ak import GINAKConv
from graphgym_nc.nn.peers.nested_gin import NestedGNN

__all__ = ['GINAKConv', 'NestedGNN']
