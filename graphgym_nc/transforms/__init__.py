from graphgym_nc.transforms.add_triangles import AddTriangles

__all__ = ['AddTriangles']
