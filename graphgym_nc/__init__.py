"""NC-GNN for PyTorch Geometric and GraphGym.

Importing the package registers its parts with GraphGym.
"""

import graphgym_nc.graphgym  # noqa: F401
from graphgym_nc.triangles import TriangleIncidence, find_triangles

__version__ = '0.1.0'

__all__ = ['TriangleIncidence', 'find_triangles']
