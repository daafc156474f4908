import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.transforms import BaseTransform
from torch_geometric.utils import scatter

from graphgym_nc import kernels
from graphgym_nc.structures.data import attach
from graphgym_nc.triangles.listing import chunks, list_triangles
from graphgym_nc.triangles.simple_graph import SimpleGraph, check_edge_index, plain, simple_graph


class StructuralCoefficients(BaseTransform):
    """Attaches the structural coefficients of `"A New Perspective on 'How Graph Neural Networks
    Go Beyond Weisfeiler-Lehman?'" <https://openreview.net/forum?id=uxgg9o7bI_3>`_ as
    :obj:`data.edge_coefficient`, of shape :obj:`[E]` and in single precision: see
    :meth:`structural_coefficients`.

    Args:
        power: See :meth:`structural_coefficients`.
    """

    def __init__(self, power: float = 2.0) -> None:
        self.power = power

    def forward(self, data: Data) -> Data:
        if data.edge_index is None:
            raise ValueError(f"'{self}' needs 'data.edge_index', which {data} does not have")
        assert data.num_nodes is not None
        weight = structural_coefficients(data.edge_index, data.num_nodes, self.power)
        return attach(data, {'edge_coefficient': weight.float()})

    def __repr__(self) -> str:
        return f'{type(self).__name__}(power={self.power})'


def structural_coefficients(edge_index: Tensor, num_nodes: int, power: float = 2.0) -> Tensor:
    r"""The weight that every edge has in :class:`~graphgym_nc.nn.peers.GraphSNNConv`.

    The closed neighbourhoods of the ends of an edge have :math:`n` nodes in common (the ends
    themselves among them), and these have :math:`e` edges among them. With :math:`c` common
    neighbours, and :math:`k` edges among these, *i.e.* cliques of four nodes on the edge,
    :math:`n = 2 + c` and :math:`e = 1 + 2c + k`. The weights are

    .. math::
        w_{vu} = 1 + \frac{\omega_{vu}}{\sum_{u' \in \mathcal{N}(v)} \omega_{vu'}},
        \qquad \omega_{vu} = \frac{e}{n (n - 1)} \, n^{\lambda}.

    They are those of the undirected simple graph. A column :math:`(u, v)` of :obj:`edge_index`
    brings a message from :math:`u` to :math:`v`, and :math:`u'` runs over what :math:`v` hears.
    Several copies of a column share its weight. A self-loop has none, for a node has a weight of
    its own in the layer.

    The time is :math:`\mathcal{O}(m \alpha^2)`, for :math:`m` edges and arboricity
    :math:`\alpha`, or less in small or dense graphs (see
    :meth:`~graphgym_nc.kernels.cliques.count_cliques`). No memory is taken for triangles.

    Args:
        edge_index: The edges, of shape :obj:`[2, E]`.
        num_nodes: The number of nodes.
        power: The exponent :math:`\lambda`; the authors take 2 to classify graphs, and 1 to
            classify nodes.

    Returns:
        The weights, in double precision, of shape :obj:`[E]`.
    """
    edge_index = plain(edge_index)
    check_edge_index(edge_index, num_nodes)
    graph = simple_graph(edge_index, num_nodes)
    triangles, cliques = clique_counts(graph)
    nodes = 2.0 + triangles
    omega = (1 + 2 * triangles + cliques) / (nodes * (nodes - 1)) * nodes**power

    source, target = edge_index
    is_loop = source == target
    # Copies: of the same edge, in the same direction.
    column = 2 * graph.edge_id + (source > target)
    copies = torch.bincount(column, minlength=2 * graph.num_edges + 2)[column]
    share = (~is_loop).double() / copies
    omega = torch.cat([omega, omega.new_zeros(1)])[graph.edge_id] * share
    total = scatter(omega, target, dim_size=num_nodes)[target]
    return share + omega / total.masked_fill(is_loop, 1.0)


def clique_counts(graph: SimpleGraph) -> tuple[Tensor, Tensor]:
    """The numbers of triangles and of 4-cliques on every edge, of shape :obj:`[m]` each."""
    if not kernels.enabled(graph.edge_index):
        return _counts_by_torch(graph)
    from graphgym_nc.kernels.cliques import count_cliques

    edges = graph.edge_index.contiguous().numpy()
    triangles, cliques = np.empty((2, graph.num_edges), np.int64)
    count_cliques(edges, graph.num_nodes, triangles, cliques)
    return torch.from_numpy(triangles), torch.from_numpy(cliques)


def _counts_by_torch(graph: SimpleGraph) -> tuple[Tensor, Tensor]:
    """Looks, for all triangles :math:`(a, b, c)` and :math:`(a, b, d)` with :math:`c < d`, whether
    :math:`c` and :math:`d` are adjacent.
    """
    (_, _, third), (bc, ac, ab) = list_triangles(graph)
    triangles = torch.stack([bc, ac, ab]).flatten().bincount(minlength=graph.num_edges)
    cliques = torch.zeros_like(triangles)
    place = torch.arange(ab.numel(), device=ab.device)
    # Triangles with the same a and b follow each other, by ascending third corner.
    after = torch.searchsorted(ab, ab, right=True) - 1 - place
    for start, stop in chunks(after.cumsum(0)):
        number = after[start:stop]
        total = int(number.sum())
        first = torch.repeat_interleave(number, output_size=total)
        rank = torch.arange(total, device=ab.device) - (number.cumsum(0) - number)[first]
        first += start
        second = first + 1 + rank
        cd, exists = graph.find(third[first], third[second])
        first, second, cd = first[exists], second[exists], cd[exists]
        of_clique = [ab[first], ac[first], bc[first], ac[second], bc[second], cd]
        cliques += torch.cat(of_clique).bincount(minlength=graph.num_edges)
    return triangles, cliques
