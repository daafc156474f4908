"""The systems that NC-GNN is compared with, as GraphGym knows them.

One module for each system. Their keys are in :mod:`~graphgym_nc.graphgym.peers.keys`.
"""
