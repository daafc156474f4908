"""The systems that NC-GNN is compared with, as GraphGym knows them: one module for each.

Importing it registers them.
"""

import graphgym_nc.graphgym.peers.cin
import graphgym_nc.graphgym.peers.eb_gnn
import graphgym_nc.graphgym.peers.gin_ak
import graphgym_nc.graphgym.peers.graph_snn
import graphgym_nc.graphgym.peers.k123
import graphgym_nc.graphgym.peers.kp_gin
import graphgym_nc.graphgym.peers.nested_gin
import graphgym_nc.graphgym.peers.ppgn
import graphgym_nc.graphgym.peers.ring_gnn
import graphgym_nc.graphgym.peers.sat  # noqa: F401
