"""K-hop neighbours and peripheral subgraphs, as slowly and plainly as possible."""

import networkx as nx
import numpy as np

from tests.reference import neighbours


def walks(edge_index, num_nodes, steps):
    """The number of walks of so many steps between all nodes, in exact integers."""
    adjacent = neighbours(edge_index, num_nodes)
    matrix = np.zeros((num_nodes, num_nodes), dtype=object)
    for v in range(num_nodes):
        for u in adjacent[v]:
            matrix[v, u] = 1
    power = np.eye(num_nodes, dtype=int).astype(object)
    for _ in range(steps):
        power = power @ matrix
    return power


def hop_neighbours(edge_index, num_nodes, k, kernel):
    """The neighbours of every node at hop k, with the number of walks to each."""
    graph = nx.Graph()
    graph.add_nodes_from(range(num_nodes))
    graph.add_edges_from((u, v) for u, v in edge_index.t().tolist() if u != v)
    power = walks(edge_index, num_nodes, k)
    distance = dict(nx.all_pairs_shortest_path_length(graph))
    return [
        {
            u: power[v, u]
            for u in range(num_nodes)
            if u != v and (distance[v].get(u) == k if kernel == 'spd' else power[v, u] > 0)
        }
        for v in range(num_nodes)
    ]


def types_of(edge_index, kind):
    """The largest type of the copies of each edge."""
    result = {}
    for (u, v), t in zip(edge_index.t().tolist(), kind, strict=True):
        if u != v:
            result[frozenset((u, v))] = max(t, result.get(frozenset((u, v)), 0))
    return result


def peripheral(types, nodes, num_types, levels):
    """The number of edges of each type among some nodes, in both directions, and their
    configuration.
    """
    graph = nx.Graph()
    graph.add_nodes_from(nodes)
    graph.add_edges_from(edge for edge in types if edge <= set(nodes))
    number, told = [0] * num_types, [0] * (levels + 1)
    for edge in graph.edges:
        number[types[frozenset(edge)]] += 2
    if graph.number_of_edges() == 0:
        return number, told
    for v in nodes:
        distance = nx.single_source_shortest_path_length(graph, v)
        for h in range(1, levels + 1):
            level = {u for u, d in distance.items() if d == h}
            told[h] += len(level)
            told[0] += sum(2 * (2 + types[e]) for e in types if e <= level)
    return number, told
