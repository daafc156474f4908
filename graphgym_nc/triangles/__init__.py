"""Triangles of a graph, and what a layer needs to know of them.

Imports :mod:`~graphgym_nc.kernels` and :mod:`~graphgym_nc.utils`.
"""

from graphgym_nc.triangles.incidence import TriangleIncidence
from graphgym_nc.triangles.listing import find_triangles
from graphgym_nc.triangles.loader import TriangleLoader

__all__ = ['TriangleIncidence', 'TriangleLoader', 'find_triangles']
