"""Layers and models for any PyG user. What is private to them begins with an underscore.

Imports :mod:`~graphgym_nc.triangles` and what that imports.
"""

from graphgym_nc.nn.nc_conv import NCGNNConv, NCGNNEConv
from graphgym_nc.nn.sync_batch_norm import SyncBatchNorm

__all__ = ['NCGNNConv', 'NCGNNEConv', 'SyncBatchNorm']
