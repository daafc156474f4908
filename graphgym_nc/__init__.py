"""NC-GNN for PyTorch Geometric and GraphGym."""

from graphgym_nc.incidence import TriangleIncidence
from graphgym_nc.triangles import find_triangles

__version__ = '0.1.0'

__all__ = ['TriangleIncidence', 'find_triangles']
