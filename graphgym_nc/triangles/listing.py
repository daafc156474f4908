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

from graphgym_nc import kernels
from graphgym_nc.triangles.simple_graph import (
    SimpleGraph,
    check_edge_index,
    plain,
    simple_graph,
)

# Candidate pairs examined at once: bounds the working memory of the listing
# to some 200 MB, whatever the graph.
_MAX_CANDIDATES = 1 << 21


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
    for start, stop in chunks(number.cumsum(0)):
        candidate = _Candidates(
            slice(start, stop), begin[start:stop], number[start:stop], from_u[start:stop]
        )
        corners, edges = _close(graph, candidate)
        triangles.append(corners)
        opposite.append(edges)

    if not triangles:
        return u.new_empty(3, 0), u.new_empty(3, 0)
    return torch.cat(triangles, dim=1), torch.cat(opposite, dim=1)


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


def chunks(end: Tensor) -> list[tuple[int, int]]:
    """Cuts the edges into runs of about :obj:`_MAX_CANDIDATES` candidates
    each, given the running sum of their numbers.
    """
    total = int(end[-1]) if end.numel() > 0 else 0
    limit = torch.arange(0, total, _MAX_CANDIDATES, device=end.device)[1:]
    cuts = torch.searchsorted(end, limit).tolist()
    cuts = sorted({0, *cuts, end.numel()})
    return list(pairwise(cuts))
