"""What other systems than NC-GNN need to know of a graph, as tensors that batch with it.

Imports :mod:`~graphgym_nc.triangles` and what that imports.
"""
