"""What other systems than NC-GNN need to know of a graph, as tensors that batch with it.

Imports :mod:`~graphgym_nc.triangles` and what that imports.
"""

from graphgym_nc.structures.cells import Cells
from graphgym_nc.structures.hops import Hops
from graphgym_nc.structures.sets import Sets
from graphgym_nc.structures.subgraphs import Subgraphs

__all__ = ['Cells', 'Hops', 'Sets', 'Subgraphs']
