from graphgym_nc.transforms.add_triangle_count import AddTriangleCount
from graphgym_nc.transforms.add_triangles import AddTriangles

__all__ = ['AddTriangleCount', 'AddTriangles']
