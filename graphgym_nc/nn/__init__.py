from graphgym_nc.nn.nc_conv import NCGNNConv, NCGNNEConv

__all__ = ['NCGNNConv', 'NCGNNEConv']
