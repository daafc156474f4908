"""The algorithms, word for word from their definitions, in plain Python."""

from collections import Counter
from itertools import combinations, product

import hypothesis.strategies as st
import networkx as nx
import numpy as np


def same_partition(first, second) -> bool:
    """Whether two colourings agree up to the names of colours."""
    pairs = set(zip(first, second, strict=True))
    return len(pairs) == len(set(first)) == len(set(second))


def finer(first, second) -> bool:
    """Whether equal in :obj:`first` implies equal in :obj:`second`."""
    return len(set(zip(first, second, strict=True))) == len(set(first))


def multiset(items):
    return frozenset(Counter(items).items())


def naive_node_colors(graphs, communicate, max_iter=None):
    """Colours of all nodes of all graphs, and the number of iterations."""
    color = {(i, v): g.nodes[v].get('label') for i, g in enumerate(graphs) for v in g}

    def kind(g, u, v):
        return g.edges[u, v].get('label')

    def signature(i, v):
        g = graphs[i]
        around = multiset((kind(g, u, v), color[i, u]) for u in g[v])
        if not communicate:
            return color[i, v], around
        edges = multiset(
            (kind(g, a, b), multiset([color[i, a], color[i, b]]))
            for a, b in combinations(g[v], 2)
            if g.has_edge(a, b)
        )
        return color[i, v], around, edges

    return _until_stable(color, lambda key: signature(*key), max_iter)


def naive_edge_colors(graphs, rounds):
    """What the features and the edges of all nodes of all graphs are, after some rounds of
    EB-1WL (:obj:`rounds=0`: the features alone).
    """
    label = {(i, v): g.nodes[v].get('label') for i, g in enumerate(graphs) for v in g}
    color = {
        (i, u, v): (g.edges[u, v].get('label'), label[i, u], label[i, v])
        for i, g in enumerate(graphs)
        for edge in g.edges
        for u, v in (edge, edge[::-1])
    }

    def signature(i, u, v):
        g = graphs[i]
        return (
            color[i, u, v],
            multiset(color[i, u, w] for w in g[u]),
            multiset((color[i, u, w], color[i, v, w]) for w in set(g[u]) & set(g[v])),
            multiset(color[i, v, w] for w in g[v]),
        )

    for _ in range(rounds):
        names = {}
        color = {key: names.setdefault(signature(*key), len(names)) for key in color}
    if rounds == 0:
        return list(label.values())
    return [(label[i, v], multiset(color[i, v, w] for w in graphs[i][v])) for i, v in label]


def naive_triple_colors(graphs, equality=True, max_iter=None):
    """Colours of all triples of all graphs, and the number of iterations."""
    color = {}
    for i, g in enumerate(graphs):
        for triple in product(g, repeat=3):
            labels = tuple(g.nodes[v].get('label') for v in triple)
            pairs = [(triple[a], triple[b]) for a, b in product(range(3), repeat=2)]
            edges = tuple(
                (g.has_edge(u, v), g.edges[u, v].get('label') if g.has_edge(u, v) else None)
                for u, v in pairs
            )
            equal = tuple(u == v for u, v in pairs) if equality else ()
            color[i, triple] = labels, edges, equal

    def signature(i, triple):
        around = (
            multiset(color[i, (*triple[:k], s, *triple[k + 1 :])] for s in graphs[i])
            for k in range(3)
        )
        return color[i, triple], *around

    return _until_stable(color, lambda key: signature(*key), max_iter)


def _until_stable(color, signature, max_iter):
    iterations = 0
    while max_iter is None or iterations < max_iter:
        names = {}
        new = {key: names.setdefault(signature(key), len(names)) for key in color}
        if len(names) == len(set(color.values())):
            break
        color.update(new)
        iterations += 1
    return list(color.values()), iterations


def permuted(graph, seed=0):
    """A copy whose nodes come in another order and under other names."""
    order = np.random.default_rng(seed).permutation(len(graph)).tolist()
    nodes = list(graph)
    new = dict(zip(nodes, order, strict=True))
    out = type(graph)()
    out.add_nodes_from((new[v], graph.nodes[v]) for v in sorted(nodes, key=new.__getitem__))
    out.add_edges_from((new[u], new[v], data) for u, v, data in graph.edges(data=True))
    return out


def shrikhande():
    steps = [(0, 1), (1, 0), (1, 1)]
    graph = nx.Graph()
    for x, y in product(range(4), repeat=2):
        graph.add_edges_from(((x, y), ((x + a) % 4, (y + b) % 4)) for a, b in steps)
    return graph


def rook():
    return nx.line_graph(nx.complete_bipartite_graph(4, 4))


@st.composite
def networkx_graphs(draw, max_nodes=8, labels=True):
    """Simple graphs; with labels of nodes and edges that repeat, if wished."""
    num_nodes = draw(st.integers(1, max_nodes))
    pairs = list(combinations(range(num_nodes), 2))
    edges = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    graph = nx.Graph()
    graph.add_nodes_from(range(num_nodes))
    graph.add_edges_from(edges)
    if labels:
        for v in graph:
            graph.nodes[v]['label'] = draw(st.integers(0, 1))
        for u, v in graph.edges:
            graph.edges[u, v]['label'] = draw(st.sampled_from(['single', 'double']))
    return graph


@st.composite
def alike_graphs(draw, max_nodes=9):
    """Two graphs of the same degrees, which 1-WL often does not part."""
    num_nodes = draw(st.integers(6, max_nodes))
    degree = draw(st.sampled_from([d for d in (2, 3, 4) if d * num_nodes % 2 == 0]))
    seeds = draw(st.tuples(st.integers(0, 50), st.integers(0, 50)))
    return [nx.random_regular_graph(degree, num_nodes, seed=seed) for seed in seeds]
