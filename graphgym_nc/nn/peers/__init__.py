"""The systems that NC-GNN is compared with, as layers and models for any PyG user."""

from graphgym_nc.nn.peers._sat_extractors import SubgraphExtractor, SubtreeExtractor
from graphgym_nc.nn.peers.cin import CINConv
from graphgym_nc.nn.peers.cin_network import CIN
from graphgym_nc.nn.peers.eb_gnn import EBGNN, EBConv
from graphgym_nc.nn.peers.gin_ak import GINAKConv
from graphgym_nc.nn.peers.graph_snn import GraphSNNConv, GraphSNNEConv
from graphgym_nc.nn.peers.k123 import K123GNN, TypedGraphConv
from graphgym_nc.nn.peers.kp_gin import EdgeTypeGINConv, KPGINConv, KPGINPlusConv
from graphgym_nc.nn.peers.kp_gin_network import KPGIN
from graphgym_nc.nn.peers.nested_gin import NestedGNN
from graphgym_nc.nn.peers.ppgn import PPGN, PPGNBlock
from graphgym_nc.nn.peers.ring_gnn import RingGNN, RingGNNConv
from graphgym_nc.nn.peers.sat import SAT, SATConv

__all__ = [
    'CIN',
    'EBGNN',
    'K123GNN',
    'KPGIN',
    'PPGN',
    'SAT',
    'CINConv',
    'EBConv',
    'EdgeTypeGINConv',
    'GINAKConv',
    'GraphSNNConv',
    'GraphSNNEConv',
    'KPGINConv',
    'KPGINPlusConv',
    'NestedGNN',
    'PPGNBlock',
    'RingGNN',
    'RingGNNConv',
    'SATConv',
    'SubgraphExtractor',
    'SubtreeExtractor',
    'TypedGraphConv',
]
