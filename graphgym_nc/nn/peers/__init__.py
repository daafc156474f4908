"""The systems that NC-GNN is compared with, as layers and models for any PyG user."""

from graphgym_nc.nn.peers.eb_gnn import EBGNN, EBConv
from graphgym_nc.nn.peers.graph_snn import GraphSNNConv, GraphSNNEConv

__all__ = ['EBGNN', 'EBConv', 'GraphSNNConv', 'GraphSNNEConv']
