"""Transforms that give a graph its triangles, or their number.

Imports :mod:`~graphgym_nc.triangles`.
"""

from graphgym_nc.transforms.add_triangle_count import AddTriangleCount
from graphgym_nc.transforms.add_triangles import AddTriangles

__all__ = ['AddTriangleCount', 'AddTriangles']
