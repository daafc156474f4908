"""The systems that NC-GNN is compared with, as layers and models for any PyG user."""

from graphgym_nc.nn.peers._sat_extractors import SubgraphExtractor, SubtreeExtractor
from graphgym_nc.nn.peers.sat import SAT, SATConv

__all__ = ['SAT', 'SATConv', 'SubgraphExtractor', 'SubtreeExtractor']
