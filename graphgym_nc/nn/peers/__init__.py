"""The systems that NC-GNN is compared with, as layers and models for any PyG user."""

from graphgym_nc.nn.peers.cin import CIN, CINConv
from graphgym_nc.nn.peers.k123 import K123GNN, TypedGraphConv

__all__ = ['CIN', 'K123GNN', 'CINConv', 'TypedGraphConv']
