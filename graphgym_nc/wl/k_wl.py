"""3-WL: colour refinement of triples of nodes."""

from collections.abc import Iterator

import numpy as np

from graphgym_nc.wl.multisets import Ints, pair_ids, renumber, row_multiset_ids
from graphgym_nc.wl.union import GraphUnion

MAX_BYTES = 8 << 30
"""The memory that 3-WL may take, in bytes."""

# Colours, three multisets' ids and the keys to sort, at the peak (measured).
_BYTES_PER_TRIPLE = 88


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
    # Graphs of different sizes share no colour after the first iteration, for
    # their multisets differ in size. So each size is refined by itself, all of
    # its graphs in one array of shape [graphs, n, n, n].
    sizes, size = np.unique(union.num_nodes, return_inverse=True)
    members = [np.flatnonzero(size == i) for i in range(sizes.size)]
    stacks = _initial_colors(union, members)
    yield _unstack(stacks, members)

    num_colors = np.unique(np.concatenate([stack.ravel() for stack in stacks])).size
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
    pair_types = renumber(np.concatenate([_pair_types(union, m).ravel() for m in members]))
    first, second, third, shapes, start = [], [], [], [], 0
    for graphs in members:
        n = int(union.num_nodes[graphs[0]])
        stop = start + graphs.size * n * n
        pairs = pair_types[start:stop].reshape(graphs.size, n, n)
        start = stop
        shapes.append((graphs.size, n, n, n))
        for parts, axis in ((first, 3), (second, 2), (third, 1)):
            parts.append(np.broadcast_to(np.expand_dims(pairs, axis), shapes[-1]).ravel())
    color = np.concatenate(first)
    for parts in (second, third):
        color = pair_ids(color, np.concatenate(parts))
    cuts = np.cumsum([np.prod(shape) for shape in shapes])[:-1]
    return [
        part.reshape(shape) for part, shape in zip(np.split(color, cuts), shapes, strict=True)
    ]


def _pair_types(union: GraphUnion, graphs: Ints) -> Ints:
    """The types of all pairs of nodes of graphs of one size: the features of
    both, and whether they are equal, not adjacent, or how they are adjacent.
    """
    n = int(union.num_nodes[graphs[0]])
    position = np.full(union.num_graphs, -1)
    position[graphs] = np.arange(graphs.size)
    u, v = union.graph.edge_index.numpy()
    where = position[union.batch[u]] if u.size > 0 else u
    u, v, where, edge_color = (
        part[where >= 0] for part in (u, v, where, union.edge_color)
    )
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
    if largest > MAX_BYTES:
        index = each.index(largest)
        raise MemoryError(
            f'3-WL colours all triples of nodes: graph {index} with its {num_nodes[index]} nodes '
            f'would take about {_gigabytes(largest)}, more than the {_gigabytes(MAX_BYTES)} allowed'
        )
    if total > MAX_BYTES:
        raise MemoryError(
            f'3-WL colours all triples of nodes: {len(each)} graphs together would take about '
            f'{_gigabytes(total)}, more than the {_gigabytes(MAX_BYTES)} allowed; compare fewer '
            'at once'
        )


def _gigabytes(num_bytes: int) -> str:
    return f'{num_bytes / 2**30:.1f} GiB'
