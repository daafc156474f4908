"""Transforms that give a graph its triangles, their number, or other structures.

Imports :mod:`~graphgym_nc.structures` and :mod:`~graphgym_nc.triangles`.
"""

from graphgym_nc.structures.cells import AddCells
from graphgym_nc.structures.sets import AddSets
from graphgym_nc.transforms.add_triangle_count import AddTriangleCount
from graphgym_nc.transforms.add_triangles import AddTriangles

__all__ = ['AddCells', 'AddSets', 'AddTriangleCount', 'AddTriangles']
