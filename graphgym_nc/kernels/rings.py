"""The rings of a graph: its cycles without chords, up to some length."""

import numpy as np

from graphgym_nc.kernels.graphs import Array, compiled

_NOWHERE = np.iinfo(np.int64).max


@compiled
def search_rings(
    rowptr: Array,
    col: Array,
    edge: Array,
    max_ring: int,
    max_steps: int,
    ring_edge: Array,
    ring_size: Array,
) -> tuple[int, int, int]:
    """Lists the edges of every ring, or only counts them.

    A ring is found once: from its least node, towards the lesser of this node's two neighbours.
    Paths without chords grow from there, node by node, as long as they can still come back in
    time.

    Args:
        rowptr: Where the neighbours of every node begin, of shape :obj:`[num_nodes + 1]`.
        col: The neighbours, ascending for every node.
        edge: The edges that lead to them.
        max_ring: The largest number of nodes of a ring.
        max_steps: The largest number of steps, each a look at a neighbour.
        ring_edge: Takes the edges of all rings, one ring after the other; if empty, they are
            only counted.
        ring_size: Takes the number of edges of every ring.

    Returns:
        The number of rings, that of their edges, and that of the steps: more than allowed, if
        the search was given up.
    """
    num_nodes = rowptr.size - 1
    distance = np.full(num_nodes, _NOWHERE)  # from the first node of the path
    closing = np.empty(num_nodes, np.int64)  # the edge between a node and the first
    touching = np.zeros(num_nodes, np.int64)  # how many nodes of the path are neighbours
    queue = np.empty(num_nodes, np.int64)
    path, path_edge = np.empty(max_ring, np.int64), np.empty(max_ring, np.int64)
    cursor = np.empty(max_ring, np.int64)
    rings = entries = steps = 0
    for first in range(num_nodes):
        reached = _reach(rowptr, col, edge, first, max_ring // 2, distance, closing, queue)
        last = 0
        _enter(rowptr, col, first, first, last, path, cursor, touching)
        while last >= 0 and steps <= max_steps:
            v = path[last]
            if cursor[last] == rowptr[v + 1]:
                for i in range(rowptr[v], rowptr[v + 1]):
                    touching[col[i]] -= 1
                last -= 1
                continue
            w, e = col[cursor[last]], edge[cursor[last]]
            cursor[last] += 1
            steps += 1
            if last > 0 and w == path[last - 1]:
                continue
            if last > 0 and touching[w] == 2 and distance[w] == 1:
                if w > path[1]:
                    if ring_size.size > 0:
                        ring_size[rings] = last + 2
                        ring_edge[entries : entries + last] = path_edge[1 : last + 1]
                        ring_edge[entries + last] = e
                        ring_edge[entries + last + 1] = closing[w]
                    rings += 1
                    entries += last + 2
            elif touching[w] == 1 and distance[w] <= max_ring - (last + 1):
                last += 1
                path_edge[last] = e
                _enter(rowptr, col, w, first, last, path, cursor, touching)
        for node in queue[:reached]:
            distance[node] = _NOWHERE
        if steps > max_steps:
            break
    return rings, entries, steps


@compiled
def _enter(
    rowptr: Array,
    col: Array,
    node: int,
    first: int,
    place: int,
    path: Array,
    cursor: Array,
    touching: Array,
) -> None:
    """Adds a node to the path. Only its neighbours beyond the first node are looked at."""
    path[place] = node
    begin, end = rowptr[node], rowptr[node + 1]
    for i in range(begin, end):
        touching[col[i]] += 1
    cursor[place] = begin + np.searchsorted(col[begin:end], first, side='right')


@compiled
def _reach(
    rowptr: Array,
    col: Array,
    edge: Array,
    first: int,
    radius: int,
    distance: Array,
    closing: Array,
    queue: Array,
) -> int:
    """Notes the distance of all nodes beyond the first that are no farther from it than a
    radius, on ways beyond the first.

    Returns:
        How many they are, with the first: the nodes are in the queue.
    """
    distance[first], queue[0] = 0, first
    done, number = 0, 1
    while done < number:
        v = queue[done]
        done += 1
        if distance[v] == radius:
            break
        for i in range(rowptr[v], rowptr[v + 1]):
            w = col[i]
            if w > first and distance[w] == _NOWHERE:
                distance[w] = distance[v] + 1
                queue[number] = w
                number += 1
                if v == first:
                    closing[w] = edge[i]
    return number
