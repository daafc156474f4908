"""Transforms that give a graph its triangles, or their number, or other structures.

Imports :mod:`~graphgym_nc.triangles` and :mod:`~graphgym_nc.structures`.
"""

from graphgym_nc.structures.hops import KHops
from graphgym_nc.transforms.add_triangle_count import AddTriangleCount
from graphgym_nc.transforms.add_triangles import AddTriangles

__all__ = ['AddTriangleCount', 'AddTriangles', 'KHops']
