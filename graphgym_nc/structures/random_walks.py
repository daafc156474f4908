"""How probably a random walk returns to where it set out."""

from torch_geometric.transforms import AddRandomWalkPE


class RandomWalks(AddRandomWalkPE):
    r"""Adds to every node :math:`i` how probably a random walk from it is back after
    :math:`1, \ldots, w` steps, :math:`(\mathbf{D}^{-1} \mathbf{A})^t_{ii}`: as
    :obj:`random_walk_pe`, of shape :obj:`[num_nodes, walk_length]`.

    This is PyG's :class:`~torch_geometric.transforms.AddRandomWalkPE`, which takes every edge for
    the only one between its ends, with a name that tells the length of the walks: structures are
    kept under the names of their transforms.

    Args:
        walk_length: The number of steps :math:`w`.
    """

    def __init__(self, walk_length: int) -> None:
        super().__init__(walk_length)

    def __repr__(self) -> str:
        return f'{type(self).__name__}({self.walk_length})'
