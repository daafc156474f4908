from graphgym_nc.nn.nc_conv import NCGNNConv, NCGNNEConv
from graphgym_nc.nn.sync_batch_norm import SyncBatchNorm

__all__ = ['NCGNNConv', 'NCGNNEConv', 'SyncBatchNorm']
