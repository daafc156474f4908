import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from networkx.algorithms.isomorphism import GraphMatcher
from torch_geometric.data import Data

from graphgym_nc.datasets.counting_files import CountingFile
from graphgym_nc.datasets.subgraph_counts import TARGETS, count_subgraphs, set_targets

#: The subgraphs, and how often each maps onto itself.
PATTERNS = {
    'triangle': (nx.complete_graph(3), 6),
    'tailed_triangle': (nx.lollipop_graph(3, 1), 2),
    'star': (nx.star_graph(3), 6),
    'cycle4': (nx.cycle_graph(4), 8),
    'chordal_cycle': (nx.complete_graph(4), 4),
    'clique4': (nx.complete_graph(4), 24),
}
PATTERNS['chordal_cycle'][0].remove_edge(0, 1)


def count(graph, target):
    edges = np.array(sorted(graph.to_directed().edges), dtype=np.int64).reshape(-1, 2)
    return count_subgraphs(edges.T, len(graph), target)


@pytest.mark.parametrize(
    ('graph', 'expected'),
    [
        (nx.complete_graph(4), (4, 12, 4, 3, 6, 1)),
        (nx.cycle_graph(4), (0, 0, 0, 1, 0, 0)),
        (nx.star_graph(4), (0, 0, 4, 0, 0, 0)),
        (nx.wheel_graph(5), (4, 16, 8, 5, 4, 0)),
        (nx.empty_graph(3), (0, 0, 0, 0, 0, 0)),
    ],
    ids=['clique', 'cycle', 'star', 'wheel', 'empty'],
)
def test_by_hand(graph, expected):
    assert tuple(count(graph, target) for target in TARGETS) == expected


@given(size=st.integers(1, 9), density=st.floats(0.1, 0.9), seed=st.integers(0, 2**16))
def test_against_networkx(size, density, seed):
    graph = nx.gnp_random_graph(size, density, seed=seed)
    for target, (pattern, symmetries) in PATTERNS.items():
        found = sum(1 for _ in GraphMatcher(graph, pattern).subgraph_monomorphisms_iter())
        assert count(graph, target) == found / symmetries, target


@pytest.mark.parametrize('name', ['regular', 'erdos_renyi'])
def test_against_the_labels_of_chen_et_al(shared_data, name):
    path = shared_data / 'counting' / f'{name}.npz'
    labels, graphs = np.load(path), CountingFile(path)

    def ours(target):
        return np.array(
            [count_subgraphs(g.edge_index.numpy(), g.num_nodes, target) for g in graphs]
        )

    np.testing.assert_array_equal(ours('triangle'), labels['triangle'])
    np.testing.assert_array_equal(ours('star'), labels['star'])
    if name == 'erdos_renyi':  # whose other labels are numbers of induced subgraphs
        cliques = ours('clique4')
        chordal = ours('chordal_cycle') - 6 * cliques
        tailed = ours('tailed_triangle') - 4 * chordal - 12 * cliques
        np.testing.assert_array_equal(chordal, labels['chordal_cycle'])
        np.testing.assert_array_equal(tailed, labels['tailed_triangle'])


def test_targets_that_do_not_differ():
    empty = torch.zeros(2, 0, dtype=torch.long)
    graphs = [Data(edge_index=empty, num_nodes=n) for n in (3, 4)]
    with pytest.raises(ValueError, match="same number of 'star', 0"):
        set_targets(graphs, 'star')
