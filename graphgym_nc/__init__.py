"""NC-GNN for PyTorch Geometric and GraphGym.

Importing the package registers its parts with GraphGym.
"""

import graphgym_nc.config
import graphgym_nc.encoder
import graphgym_nc.graph_network
import graphgym_nc.head
import graphgym_nc.layer
import graphgym_nc.loader
import graphgym_nc.loss
import graphgym_nc.metric
import graphgym_nc.network
import graphgym_nc.optim  # noqa: F401
from graphgym_nc.triangle_incidence import TriangleIncidence
from graphgym_nc.triangles import find_triangles

__version__ = '0.1.0'

__all__ = ['TriangleIncidence', 'find_triangles']
