"""The systems that NC-GNN is compared with, as layers and models for any PyG user."""

from graphgym_nc.nn.peers.ppgn import PPGN, PPGNBlock
from graphgym_nc.nn.peers.ring_gnn import RingGNN, RingGNNConv

__all__ = ['PPGN', 'PPGNBlock', 'RingGNN', 'RingGNNConv']
