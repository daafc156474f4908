"""Lists the triangles of a graph, on any device.

Everything here works on the *undirected simple graph* behind an
:obj:`edge_index`: self-loops are dropped, duplicate edges are merged, and a
directed edge counts as an undirected one.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch_geometric import EdgeIndex

from graphgym_nc import kernels

# Candidate pairs examined at once: bounds the working memory of the listing
# to some 200 MB, whatever the graph.
_MAX_CANDIDATES = 1 << 21


class SimpleGraph(NamedTuple):
    r"""The undirected simple graph behind an :obj:`edge_index`.

    Attributes:
        edge_index: The edges :math:`(u, v)` with :math:`u < v`, each once, in
            lexicographic order, of shape :obj:`[2, m]`.
        key: Their keys :math:`u n + v`, ascending, of shape :obj:`[m]`.
        rowptr: Where each node's edges :math:`(u, \cdot)` begin, of shape
            :obj:`[n + 1]`.
        edge_id: The edge that each column of the original :obj:`edge_index`
            stands for, :obj:`m` for a self-loop, of shape :obj:`[E]`.
    """

    edge_index: Tensor
    key: Tensor
    rowptr: Tensor
    edge_id: Tensor

    @property
    def num_nodes(self) -> int:
        return self.rowptr.numel() - 1

    @property
    def num_edges(self) -> int:
        return self.key.numel()

    def find(self, u: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Looks up the edges :obj:`(u, v)`, given :obj:`u < v`.

        Returns:
            The ids of the edges, and a mask of those that exist.
        """
        key = u * self.num_nodes + v
        edge = torch.searchsorted(self.key, key).clamp_(max=max(self.num_edges - 1, 0))
        if self.num_edges == 0:
            return edge, torch.zeros_like(key, dtype=torch.bool)
        return edge, self.key[edge] == key


def simple_graph(edge_index: Tensor, num_nodes: int | None = None) -> SimpleGraph:
    """Drops loops, merges duplicates and ignores direction.

    Args:
        edge_index: The edges, of shape :obj:`[2, E]`.
        num_nodes: The number of nodes, *i.e.* :obj:`max(edge_index) + 1` if
            not given.

    Raises:
        ValueError: If :obj:`edge_index` is not an integer tensor of shape
            :obj:`[2, E]`, or holds an index outside of
            :obj:`[0, num_nodes)`.
    """
    num_nodes = check_edge_index(edge_index, num_nodes)
    low, high = edge_index.long().aminmax(dim=0)
    loop = low == high
    # A loop gets a key beyond all others, and so the last id.
    key = (low * num_nodes + high).masked_fill_(loop, num_nodes * num_nodes)
    key, edge_id = torch.unique(key, return_inverse=True)
    if key.numel() > 0 and bool(loop.any()):
        key = key[:-1]
    u = torch.div(key, max(num_nodes, 1), rounding_mode='floor')
    v = key - u * num_nodes
    return SimpleGraph(torch.stack([u, v]), key, offsets(u, num_nodes), edge_id)


def find_triangles(edge_index: Tensor, num_nodes: int | None = None) -> Tensor:
    r"""Lists the triangles of the undirected simple graph behind
    :obj:`edge_index`, each of them once.

    Self-loops are dropped, duplicate edges merged, directions ignored. A
    column :math:`(a, b, c)` of the result, with :math:`a < b < c`, stands for
    the three messages of a neighbourhood's edges: :math:`a` receives
    :math:`\{b, c\}`, :math:`b` receives :math:`\{a, c\}`, and :math:`c`
    receives :math:`\{a, b\}`.

    Args:
        edge_index: The edges, of shape :obj:`[2, E]`, on any device.
        num_nodes: The number of nodes, *i.e.* :obj:`max(edge_index) + 1` if
            not given.

    Returns:
        The triangles, of shape :obj:`[3, T]`, in lexicographic order.

    Raises:
        ValueError: If :obj:`edge_index` is not an integer tensor of shape
            :obj:`[2, E]`, or holds an index outside of
            :obj:`[0, num_nodes)`.

    Example:
        >>> edge_index = torch.tensor([[0, 0, 1, 2], [1, 2, 2, 3]])
        >>> find_triangles(edge_index)
        tensor([[0],
                [1],
                [2]])
    """
    edge_index = plain(edge_index)
    if kernels.enabled(edge_index):
        return _find_on_cpu(edge_index, check_edge_index(edge_index, num_nodes))
    return list_triangles(simple_graph(edge_index, num_nodes))[0]


def _find_on_cpu(edge_index: Tensor, num_nodes: int) -> Tensor:
    from graphgym_nc.kernels import graphs, triangles

    unused_id = np.empty(edge_index.size(1), np.int64)
    edges = graphs.simple_edges(edge_index.contiguous().numpy(), num_nodes, unused_id)
    edges, weight = triangles.weigh(edges, num_nodes, unused_id)
    rowptr = np.append(0, weight.cumsum())
    opposite = triangles.opposite_nodes(edges, num_nodes, rowptr)
    corners = torch.empty(3, opposite.size // 3, dtype=torch.long)
    triangles.corners(edges, rowptr, opposite, corners.numpy())
    return corners


def list_triangles(graph: SimpleGraph) -> tuple[Tensor, Tensor]:
    r"""Lists the triangles of :obj:`graph` and the edges that form them.

    For every edge :math:`(u, v)` the candidates for the third corner
    :math:`w > v` come from the shorter of the lists of :math:`u` and
    :math:`v`, and are looked up in the other. With both lists ascending, the
    triangles come out in lexicographic order, with no sort; and the work is
    bounded by :math:`\sum_{(u, v)} \min(\deg u, \deg v)`, *i.e.* by edges
    times arboricity (Chiba and Nishizeki, 1985).

    Returns:
        The corners :math:`a < b < c` and the ids of the edges opposite them,
        :math:`(b, c), (a, c), (a, b)`, both of shape :obj:`[3, T]`.
    """
    u, v = graph.edge_index
    edge = torch.arange(graph.num_edges, device=u.device)
    after_u = graph.rowptr[u + 1] - edge - 1
    after_v = graph.rowptr[v + 1] - graph.rowptr[v]
    from_u = after_u < after_v
    begin = torch.where(from_u, edge + 1, graph.rowptr[v])
    number = torch.minimum(after_u, after_v)

    triangles, opposite = [], []
    for start, stop in _chunks(number.cumsum(0)):
        candidate = _Candidates(
            slice(start, stop), begin[start:stop], number[start:stop], from_u[start:stop]
        )
        corners, edges = _close(graph, candidate)
        triangles.append(corners)
        opposite.append(edges)

    if not triangles:
        return u.new_empty(3, 0), u.new_empty(3, 0)
    return torch.cat(triangles, dim=1), torch.cat(opposite, dim=1)


def offsets(sorted_index: Tensor, size: int) -> Tensor:
    """Where each value of :obj:`range(size)` begins in a sorted index, of
    shape :obj:`[size + 1]`.
    """
    count = torch.bincount(sorted_index, minlength=size)
    return torch.nn.functional.pad(count.cumsum(0), (1, 0))


class _Candidates(NamedTuple):
    edges: slice  # a run of edges (u, v),
    begin: Tensor  # the first edge that leads to a candidate of each,
    number: Tensor  # the number of its candidates,
    from_u: Tensor  # and whether they are neighbours of u (or else of v).


def _close(graph: SimpleGraph, candidates: _Candidates) -> tuple[Tensor, Tensor]:
    """The candidates that close a triangle: its corners and opposite edges."""
    edges, begin, number, from_u = candidates
    total = int(number.sum())
    local = torch.repeat_interleave(number, output_size=total)
    rank = torch.arange(total, device=number.device) - (number.cumsum(0) - number)[local]

    u, v = graph.edge_index[:, edges]
    side = begin[local] + rank
    w = graph.edge_index[1, side]
    third, exists = graph.find(torch.where(from_u, v, u)[local], w)

    local, side, third, w = local[exists], side[exists], third[exists], w[exists]
    from_u = from_u[local]
    corners = torch.stack([u[local], v[local], w])
    edge_uw = torch.where(from_u, side, third)
    edge_vw = torch.where(from_u, third, side)
    return corners, torch.stack([edge_vw, edge_uw, local + edges.start])


def _chunks(end: Tensor) -> list[tuple[int, int]]:
    """Cuts the edges into runs of about :obj:`_MAX_CANDIDATES` candidates
    each, given the running sum of their numbers.
    """
    total = int(end[-1]) if end.numel() > 0 else 0
    limit = torch.arange(0, total, _MAX_CANDIDATES, device=end.device)[1:]
    cuts = torch.searchsorted(end, limit).tolist()
    cuts = sorted({0, *cuts, end.numel()})
    return list(pairwise(cuts))


def plain(edge_index: Tensor) -> Tensor:
    """The tensor in an :class:`~torch_geometric.EdgeIndex`, which has operations of its own."""
    return edge_index.as_tensor() if isinstance(edge_index, EdgeIndex) else edge_index


def check_edge_index(edge_index: Tensor, num_nodes: int | None) -> int:
    """Makes sure that edges are what they should be.

    Returns:
        The number of nodes.

    Raises:
        ValueError: See :meth:`simple_graph`.
    """
    if edge_index.dim() != 2 or edge_index.size(0) != 2:
        raise ValueError(f"'edge_index' must have shape [2, E] (got {list(edge_index.shape)})")
    if edge_index.is_floating_point() or edge_index.dtype == torch.bool:
        raise ValueError(f"'edge_index' must hold integers (got {edge_index.dtype})")
    if num_nodes is not None and num_nodes < 0:
        raise ValueError(f"'num_nodes' must not be negative (got {num_nodes})")
    if edge_index.numel() == 0:
        return num_nodes or 0
    low, high = torch.stack(edge_index.aminmax()).tolist()
    if low < 0:
        raise ValueError(f"'edge_index' holds a negative node index ({low})")
    if num_nodes is None:
        return int(high) + 1
    if high >= num_nodes:
        raise ValueError(
            f"'edge_index' holds node index {high}, but there are only {num_nodes} nodes "
            f'(allowed are 0 to {num_nodes - 1})'
        )
    return num_nodes
