"""The systems that NC-GNN is compared with, as layers and models for any PyG user."""

from graphgym_nc.nn.peers.sat import SAT, SATConv, SubgraphExtractor, SubtreeExtractor

__all__ = ['SAT', 'SATConv', 'SubgraphExtractor', 'SubtreeExtractor']
