"""The cells of a graph: its nodes, its edges and its rings."""

from typing import NamedTuple

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.transforms import BaseTransform
from typing_extensions import Self

from graphgym_nc.structures.data import INDICES, TooLargeError, attach, check_size
from graphgym_nc.structures.neighbours import Neighbours
from graphgym_nc.triangles.listing import list_triangles
from graphgym_nc.triangles.simple_graph import SimpleGraph, simple_graph

INDICES.update(
    ring_edge='cell_edge_index', cell_column='edge_index', cell_of_column='cell_edge_index'
)

#: The steps after which a search for rings is given up: a minute or so.
MAX_STEPS = 10**10

_WORD = 8


class AddCells(BaseTransform):
    r"""Attaches the edges and the rings of a graph, as the cells of dimension 1 and 2.

    A ring is a cycle without chords. Rings of three nodes are the triangles: with no others, this
    is the clique complex up to dimension 2 of `"Weisfeiler and Lehman Go Topological"
    <https://arxiv.org/abs/2103.03212>`_; with more, the cell complex of `"Weisfeiler and Lehman
    Go Cellular" <https://arxiv.org/abs/2106.12575>`_. Loops, copies and directions of edges do
    not count.

    Which cells lie on the boundary of which is all that is kept. Two cells are upper-adjacent
    where they lie on the boundary of the same: :class:`graphgym_nc.nn.peers.CINConv` sums over
    them without a list of such pairs, of which there are :math:`k (k - 1)` for a ring of
    :math:`k` edges.

    It attaches :obj:`cell_edge_index` of shape :obj:`[2, num_edges]`, the two ends of every edge;
    :obj:`ring_edge`, the edges of all rings, one ring after the other; and :obj:`ring_size`, of
    shape :obj:`[num_rings]`, their number for each. If there are edge features,
    :obj:`cell_column` and :obj:`cell_of_column` say which column of :obj:`edge_index` is of which
    edge.

    Args:
        max_ring (int, optional): The largest number of nodes of a ring. (default: :obj:`3`)
    """

    def __init__(self, max_ring: int = 3) -> None:
        if max_ring < 3:
            raise ValueError(f"'max_ring' must be at least 3 (got {max_ring})")
        self.max_ring = max_ring

    def forward(self, data: Data) -> Data:
        if data.edge_index is None:
            raise ValueError(f"'{self}' needs 'data.edge_index', which {data} does not have")
        graph = simple_graph(data.edge_index, data.num_nodes)
        ring_edge, ring_size = find_rings(graph, self.max_ring)
        tensors = {
            'cell_edge_index': graph.edge_index,
            'ring_edge': ring_edge,
            'ring_size': ring_size,
        }
        if data.get('edge_attr') is not None:
            column = (graph.edge_id < graph.num_edges).nonzero().view(-1)
            tensors |= {'cell_column': column, 'cell_of_column': graph.edge_id[column]}
        return attach(data, tensors)

    def __repr__(self) -> str:
        return f'{self.__class__.__name__}(max_ring={self.max_ring})'


class Boundary(NamedTuple):
    """Which cells lie on the boundary of which cells of one dimension more.

    Attributes:
        face: The cells on the boundaries, of shape :obj:`[num_entries]`.
        cell: The cells that these are the boundaries of, of the same shape.
    """

    face: Tensor
    cell: Tensor


class Cells(NamedTuple):
    """The cells of a graph or a batch, as :class:`AddCells` attaches them."""

    edge_index: Tensor
    ring_edge: Tensor
    ring_size: Tensor

    @classmethod
    def of(cls, data: Data) -> Self:
        """The cells that a graph or a batch has been given."""
        return cls(data.cell_edge_index, data.ring_edge, data.ring_size)

    @property
    def num_edges(self) -> int:
        return self.edge_index.size(1)

    @property
    def num_rings(self) -> int:
        return self.ring_size.size(0)

    def boundaries(self) -> tuple[Boundary, Boundary]:
        """The nodes of all edges, and the edges of all rings."""
        edge = torch.arange(self.num_edges, device=self.edge_index.device)
        ring = torch.repeat_interleave(self.ring_size, output_size=self.ring_edge.size(0))
        return Boundary(self.edge_index.reshape(-1), edge.repeat(2)), Boundary(
            self.ring_edge, ring
        )

    def batches(self, batch: Tensor) -> tuple[Tensor, Tensor]:
        """The graphs that edges and rings belong to, given those of the nodes."""
        of_edge = batch[self.edge_index[0]]
        first = self.ring_size.cumsum(0) - self.ring_size
        return of_edge, of_edge[self.ring_edge[first]]


def edge_features(data: Data, edge_attr: Tensor) -> Tensor:
    """Averages the features of columns of :obj:`edge_index` over those of every edge (usually
    its two directions), into shape :obj:`[num_edges, channels]`.
    """
    number = data.cell_edge_index.size(1)
    rows = (edge_attr if edge_attr.dim() == 2 else edge_attr.unsqueeze(1))[data.cell_column]
    total = rows.new_zeros(number, rows.size(1)).index_add(0, data.cell_of_column, rows)
    copies = torch.zeros_like(total[:, :1]).index_add(
        0, data.cell_of_column, torch.ones_like(rows[:, :1])
    )
    return total / copies


def find_rings(graph: SimpleGraph, max_ring: int) -> tuple[Tensor, Tensor]:
    """Lists the rings of a graph.

    Args:
        graph: The graph.
        max_ring: The largest number of nodes of a ring.

    Returns:
        The edges of all rings, one ring after the other, and their number for each.

    Raises:
        TooLargeError: If they cannot be found in reasonable time, or do not fit into memory.
    """
    if max_ring == 3:
        # A triangle lies on three edges, each of which is on no more than its ends have others.
        degree = torch.bincount(graph.edge_index.view(-1), minlength=graph.num_nodes) - 1
        most = int(degree[graph.edge_index].amin(dim=0).sum()) // 3
        check_size(4 * most * _WORD, 'the triangles of a graph')
        edges = list_triangles(graph)[1].t()
        return edges.reshape(-1), edges.new_full(edges.shape[:1], 3)
    return _search(graph, max_ring)


def _search(graph: SimpleGraph, max_ring: int) -> tuple[Tensor, Tensor]:
    from graphgym_nc.kernels.rings import search_rings

    rowptr, _, target, edge = Neighbours.of(graph)
    arrays = [tensor.cpu().numpy() for tensor in (rowptr, target, edge)]
    nothing = torch.empty(0, dtype=torch.long).numpy()
    rings, entries, steps = search_rings(*arrays, max_ring, MAX_STEPS, nothing, nothing)
    what = f'the rings of up to {max_ring} nodes'
    if steps > MAX_STEPS:
        raise TooLargeError(
            f'{what} of a graph of {graph.num_nodes} nodes and {graph.num_edges} edges were not '
            f'found within {MAX_STEPS:.0e} steps ({rings} were): look for smaller rings only'
        )
    check_size((entries + rings) * _WORD, what)
    ring_edge, ring_size = (
        torch.empty(entries, dtype=torch.long),
        torch.empty(rings, dtype=torch.long),
    )
    if rings > 0:
        search_rings(*arrays, max_ring, MAX_STEPS, ring_edge.numpy(), ring_size.numpy())
    device = graph.edge_index.device
    return ring_edge.to(device), ring_size.to(device)
