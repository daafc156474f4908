"""1-WL, NC-1-WL and EB-1WL: colour refinement of nodes, and of edges."""

from collections.abc import Iterator

import numpy as np

from graphgym_nc.triangles.listing import list_triangles
from graphgym_nc.wl.multisets import Ints, multiset_ids, pair_ids, renumber
from graphgym_nc.wl.union import GraphUnion


def refine_nodes(union: GraphUnion, communicate: bool) -> Iterator[Ints]:
    r"""Refines the colours of the nodes of all graphs together, by

    .. math::
        c_v \leftarrow \textrm{HASH} \left( c_v, \{\!\{ c_u : u \in
        \mathcal{N}(v) \}\!\}, \{\!\{ \{\!\{ c_{u_1}, c_{u_2} \}\!\} : u_1, u_2
        \in \mathcal{N}(v), (u_1, u_2) \in \mathcal{E} \}\!\} \right),

    where the last multiset is NC-1-WL's, and 1-WL has none. HASH is exact:
    see :mod:`graphgym_nc.wl.multisets`. Edge features go with the colour of
    the neighbour, and with the colours of the edge among the neighbours.

    Each iteration takes :math:`\mathcal{O}(\textrm{sort}(m + T))` for
    :math:`m` edges and :math:`T` triangles.

    Args:
        union: The graphs.
        communicate: Whether to look at the edges among neighbours, *i.e.* to
            run NC-1-WL.

    Yields:
        The colours of all nodes, at first the initial ones, and then once for
        every iteration that refined them, until they are stable.
    """
    num_nodes = union.graph.num_nodes
    u, v = union.graph.edge_index.numpy()
    corner = opposite = np.empty(0, dtype=np.int64)
    if communicate:
        corner, opposite = (part.flatten().numpy() for part in list_triangles(union.graph))
    receiver, sender = np.concatenate([u, v]), np.concatenate([v, u])
    edge_color = np.concatenate([union.edge_color, union.edge_color])

    color = renumber(union.node_color)
    yield color
    num_colors = _count(color)
    while True:
        neighbours = multiset_ids(receiver, pair_ids(edge_color, color[sender]), num_nodes)
        refined = pair_ids(color, neighbours)
        if corner.size > 0:
            ends = pair_ids(np.minimum(color[u], color[v]), np.maximum(color[u], color[v]))
            edges = pair_ids(union.edge_color, ends)
            refined = pair_ids(refined, multiset_ids(corner, edges[opposite], num_nodes))
        color = refined
        if _count(color) == num_colors:
            return
        num_colors = _count(color)
        yield color


def refine_edges(union: GraphUnion) -> Iterator[Ints]:
    r"""Refines the colours of the edges of all graphs together, each in both directions, by

    .. math::
        c_{uv} \leftarrow \textrm{HASH} \left( c_{uv}, \{\!\{ c_{uw} : w \in \mathcal{N}(u)
        \}\!\}, \{\!\{ (c_{uw}, c_{vw}) : w \in \mathcal{N}(u) \cap \mathcal{N}(v) \}\!\},
        \{\!\{ c_{vw} : w \in \mathcal{N}(v) \}\!\} \right).

    This is EB-1WL, from `"Message Passing on the Edge: Towards Scalable and Expressive GNNs"
    <https://arxiv.org/abs/2510.13615>`_. An edge begins with its own features and those of its
    ends. The colour of a node is made of its features and the colours of its edges.

    Each iteration takes :math:`\mathcal{O}(\textrm{sort}(m + T))` for :math:`m` edges and
    :math:`T` triangles.

    Yields:
        The colours of all nodes, at first the initial ones, and then once for every iteration
        that refined them or the edges, until both are stable.
    """
    num_nodes, size = union.graph.num_nodes, union.graph.num_edges
    u, v = union.graph.edge_index.numpy()
    bc, ac, ab = list_triangles(union.graph)[1].numpy()
    ba, ca, cb = ab + size, ac + size, bc + size
    first, second, reader = (
        np.concatenate(parts)
        for parts in (
            (ac, bc, ab, cb, ba, ca), (bc, ac, cb, ab, ca, ba), (ab, ba, ac, ca, bc, cb),
        )
    )  # fmt: skip
    source, target = np.concatenate([u, v]), np.concatenate([v, u])

    label = node = renumber(union.node_color)
    color = pair_ids(np.tile(union.edge_color, 2), pair_ids(label[source], label[target]))
    yield node
    counts = _count(color), _count(node)
    while True:
        around = multiset_ids(source, color, num_nodes)
        refined = pair_ids(color, pair_ids(around[source], around[target]))
        if reader.size > 0:
            pairs = pair_ids(color[first], color[second])
            refined = pair_ids(refined, multiset_ids(reader, pairs, 2 * size))
        color = refined
        node = pair_ids(label, multiset_ids(source, color, num_nodes))
        if (_count(color), _count(node)) == counts:
            return
        counts = _count(color), _count(node)
        yield node


def _count(color: Ints) -> int:
    return int(color.max(initial=-1)) + 1
