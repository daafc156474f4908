"""How probably a random walk returns to where it set out."""

from torch_geometric.data import Data
from torch_geometric.transforms import AddRandomWalkPE
from torch_geometric.utils import coalesce


class RandomWalks(AddRandomWalkPE):
    r"""Adds to every node :math:`i` how probably a random walk from it is back after
    :math:`1, \ldots, w` steps, :math:`(\mathbf{D}^{-1} \mathbf{A})^t_{ii}`: as
    :obj:`random_walk_pe`, of shape :obj:`[num_nodes, walk_length]`.

    This is PyG's :class:`~torch_geometric.transforms.AddRandomWalkPE`, with a name that tells the
    length of the walks: structures are kept under the names of their transforms. Copies and
    weights of edges do not count: with copies, PyG's probabilities depend on how many nodes there
    are, and so those of a batch would not be those of its graphs.

    Args:
        walk_length: The number of steps :math:`w`.
    """

    def __init__(self, walk_length: int) -> None:
        super().__init__(walk_length)

    def forward(self, data: Data) -> Data:
        graph = Data(edge_index=coalesce(data.edge_index), num_nodes=data.num_nodes)
        data.random_walk_pe = super().forward(graph).random_walk_pe
        return data

    def __repr__(self) -> str:
        return f'{type(self).__name__}({self.walk_length})'
