"""3-WL: colour refinement of triples of nodes."""

from collections.abc import Iterator

import numpy as np

from graphgym_nc.wl.multisets import Ints, pair_ids, renumber, row_multiset_ids
from graphgym_nc.wl.union import GraphUnion

MAX_BYTES = 8 << 30
"""The memory that 3-WL may take, in bytes."""

# Measured at the peak, where all colours differ.
_BYTES_PER_TRIPLE = 128


def refine_triples(union: GraphUnion) -> Iterator[list[Ints]]:
    r"""Refines the colours of all triples of nodes of every graph, by

    .. math::
        c_{(v_1, v_2, v_3)} \leftarrow \textrm{HASH} \left( c_{(v_1, v_2,
        v_3)}, \{\!\{ c_{(s, v_2, v_3)} : s \in \mathcal{V} \}\!\}, \{\!\{
        c_{(v_1, s, v_3)} : s \in \mathcal{V} \}\!\}, \{\!\{ c_{(v_1, v_2, s)}
        : s \in \mathcal{V} \}\!\} \right).

    This is the "oblivious" 3-WL, as powerful as the 2-dimensional folklore
    WL (2-FWL), and not 3-FWL. A triple's initial colour is the isomorphism
    type of its ordered induced subgraph: the features of its nodes, which of
    them are adjacent (with which edge features), and which of them are one and
    the same node. (The latter parts no graphs that are not parted without it:
    two different nodes look like one only if they are twins.)

    The multiset over :math:`s` in one position depends on the other two nodes
    alone, so an iteration has :math:`3n^2` multisets of :math:`n` colours
    each, not :math:`3n^3`.

    Yields:
        The colours of every graph, of shape :obj:`[n, n, n]`, at first the
        initial ones, and then once for every iteration that refined them,
        until they are stable.

    Raises:
        MemoryError: If the triples would take more than :obj:`MAX_BYTES`.
    """
    _check_memory(union.num_nodes)
    if union.num_graphs == 0:
        yield []
        return
    # Graphs of different sizes share no colour after the first iteration, for
    # their multisets differ in size. So each size is refined by itself, all of
    # its graphs in one array of shape [graphs, n, n, n].
    sizes, size = np.unique(union.num_nodes, return_inverse=True)
    members = [np.flatnonzero(size == i) for i in range(sizes.size)]
    stacks = _initial_colors(union, members)
    yield _unstack(stacks, members)

    num_colors = np.unique(_join(stacks)).size
    while True:
        total = 0
        for i, stack in enumerate(stacks):
            stacks[i] = _refine(renumber(stack)) + total
            total = int(stacks[i].max(initial=total - 1)) + 1
        if total == num_colors:
            return
        num_colors = total
        yield _unstack(stacks, members)


def triples_memory(num_nodes: int) -> int:
    """The memory that 3-WL takes for a graph, in bytes."""
    return _BYTES_PER_TRIPLE * num_nodes**3


def _refine(color: Ints) -> Ints:
    """One iteration on colours of shape :obj:`[graphs, n, n, n]`."""
    num_graphs, n = color.shape[:2]
    refined = color
    for axis in (1, 2, 3):
        rows = np.moveaxis(color, axis, 3).reshape(num_graphs * n * n, n)
        ids = row_multiset_ids(rows).reshape(num_graphs, n, n)
        refined = pair_ids(refined, np.broadcast_to(np.expand_dims(ids, axis), color.shape))
    return refined


def _initial_colors(union: GraphUnion, members: list[Ints]) -> list[Ints]:
    pairs = [_pair_types(union, graphs) for graphs in members]
    pairs = _cut(renumber(_join(pairs)), pairs)
    color, triples = np.zeros(1, dtype=np.int64), []
    for axis in (3, 2, 1):  # the position that is not in the pair
        triples = [np.expand_dims(part, axis).repeat(part.shape[1], axis) for part in pairs]
        flat = _join(triples)
        color = pair_ids(np.broadcast_to(color, flat.shape), flat)
    return _cut(color, triples)


def _join(arrays: list[Ints]) -> Ints:
    return np.concatenate([array.ravel() for array in arrays])


def _cut(flat: Ints, like: list[Ints]) -> list[Ints]:
    parts = np.split(flat, np.cumsum([array.size for array in like])[:-1])
    return [part.reshape(array.shape) for part, array in zip(parts, like, strict=True)]


def _pair_types(union: GraphUnion, graphs: Ints) -> Ints:
    """The types of all pairs of nodes of graphs of one size: the features of
    both, and whether they are equal, not adjacent, or how they are adjacent.
    """
    n = int(union.num_nodes[graphs[0]])
    position = np.full(union.num_graphs, -1)
    position[graphs] = np.arange(graphs.size)
    u, v = union.graph.edge_index.numpy()
    where = position[union.batch[u]] if u.size > 0 else u
    u, v, where, edge_color = (part[where >= 0] for part in (u, v, where, union.edge_color))
    local_u, local_v = u - union.ptr[graphs[where]], v - union.ptr[graphs[where]]

    kind = np.ones((graphs.size, n, n), dtype=np.int64)
    kind[:, np.arange(n), np.arange(n)] = 0
    kind[where, local_u, local_v] = edge_color + 2
    kind[where, local_v, local_u] = edge_color + 2
    nodes = union.ptr[graphs][:, None] + np.arange(n)
    label = union.node_color[nodes]
    num_labels = int(union.node_color.max(initial=0)) + 1
    labels = label[:, :, None] * num_labels + label[:, None, :]
    return kind * num_labels**2 + labels


def _unstack(stacks: list[Ints], members: list[Ints]) -> list[Ints]:
    out = {
        int(graph): color
        for stack, graphs in zip(stacks, members, strict=True)
        for graph, color in zip(graphs, stack, strict=True)
    }
    return [out[i] for i in range(len(out))]


def _check_memory(num_nodes: Ints) -> None:
    each = [triples_memory(int(n)) for n in num_nodes]
    largest, total = max(each, default=0), sum(each)
    if total <= MAX_BYTES:
        return
    if largest > MAX_BYTES:
        what, needed, advice = f'a graph of {num_nodes.max()} nodes', largest, ''
    else:
        what, needed = f'{len(each)} graphs together', total
        advice = '; compare fewer at once'
    raise MemoryError(
        f'3-WL colours all triples of nodes: {what} would take about {needed / 2**30:.1f} GiB of '
        f'memory, more than the {MAX_BYTES / 2**30:.1f} GiB allowed{advice}'
    )
