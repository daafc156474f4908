"""Transforms that give a graph its triangles, their number, or what other systems need to know.

Imports :mod:`~graphgym_nc.triangles` and :mod:`~graphgym_nc.structures`.
"""

from graphgym_nc.structures.edge_neighbourhoods import EdgeNeighbourhoods
from graphgym_nc.structures.structural_coefficients import StructuralCoefficients
from graphgym_nc.transforms.add_triangle_count import AddTriangleCount
from graphgym_nc.transforms.add_triangles import AddTriangles

__all__ = ['AddTriangleCount', 'AddTriangles', 'EdgeNeighbourhoods', 'StructuralCoefficients']
