import warnings

import networkx as nx
import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from graphgym_nc.wl import wl_classes
from graphgym_nc.wl.union import disjoint_union


def data(x=None, edge_attr=None, edges=((0, 1), (1, 0))):
    return Data(
        x=None if x is None else torch.tensor(x),
        edge_index=torch.tensor(edges).t(),
        edge_attr=None if edge_attr is None else torch.tensor(edge_attr),
        num_nodes=2,
    )


def test_union():
    union = disjoint_union([nx.path_graph(3), nx.empty_graph(2), 'Bw'])
    assert union.num_graphs == 3
    assert union.num_nodes.tolist() == [3, 2, 3]
    assert union.ptr.tolist() == [0, 3, 5, 8]
    assert union.batch.tolist() == [0, 0, 0, 1, 1, 2, 2, 2]
    assert union.graph.edge_index.t().tolist() == [[0, 1], [1, 2], [5, 6], [5, 7], [6, 7]]
    assert union.node_color.tolist() == [0] * 8
    assert union.edge_color.tolist() == [0] * 5


def test_of_no_graphs():
    union = disjoint_union([])
    assert union.num_graphs == union.graph.num_nodes == union.graph.num_edges == 0


def test_colors_are_equal_iff_features_are():
    x = [[[0.0, 1.5], [-0.0, 1.5]], [[0.0, 1.5000001], [1.0, 1.5]]]
    union = disjoint_union([data(x[0]), data(x[1])])
    a, b, c, d = union.node_color.tolist()
    assert a == b
    assert len({a, c, d}) == 3


def test_node_labels_may_be_strings():
    graph = nx.path_graph(3)
    nx.set_node_attributes(graph, {0: 'C', 1: 'N', 2: 'C'}, 'label')
    assert disjoint_union([graph]).node_color.tolist() == [0, 1, 0]


def test_edge_colors_belong_to_edges():
    edges = [(1, 0), (2, 1), (0, 1), (1, 2), (1, 1)]
    graph = Data(
        edge_index=torch.tensor(edges).t(), edge_attr=torch.tensor([7, 3, 7, 3, 9]), num_nodes=3
    )
    union = disjoint_union([graph])
    assert union.graph.edge_index.t().tolist() == [[0, 1], [1, 2]]
    assert union.edge_color.tolist() == [1, 0]


def test_graphs_without_edges_need_no_edge_features():
    alone = Data(edge_index=torch.empty(2, 0, dtype=torch.long), num_nodes=1)
    union = disjoint_union([data(edge_attr=[1, 1]), alone])
    assert union.edge_color.tolist() == [0]


@pytest.mark.parametrize(
    ('graphs', 'message'),
    [
        ([data([[1], [2]]), data()], 'graph 0 has node features, but graph 1 has none'),
        ([data(), data(edge_attr=[1, 1])], 'graph 1 has edge features, but graph 0 has none'),
        ([data([[1], [2]]), data([[1, 2], [2, 2]])], 'graph 1 .2 numbers each'),
        ([data([[1.0], [float('nan')]])], 'not a number'),
        ([data([[1]])], 'for 2 nodes'),
        (
            [data(edge_attr=[1, 1]), data(edge_attr=[1, 2])],
            'graph 1: the edge between nodes 0 and 1',
        ),
        ([data(), 'B!'], 'graph 1: byte'),
    ],
)
def test_bad_features(graphs, message):
    with pytest.raises(ValueError, match=message):
        disjoint_union(graphs)


def test_numbers_and_strings_cannot_be_compared():
    graphs = [nx.path_graph(2), nx.path_graph(2)]
    nx.set_node_attributes(graphs[0], 1, 'label')
    nx.set_node_attributes(graphs[1], '1', 'label')
    with pytest.raises(ValueError, match=r'strings each.*numbers each'):
        disjoint_union(graphs)


@pytest.mark.parametrize('graph', [nx.path_graph(2), 'Bw', b'Bw', data()])
def test_one_graph_is_no_list_of_graphs(graph):
    with pytest.raises(TypeError, match='put it into a list'):
        disjoint_union(graph)


def test_unknown_type_is_named_with_its_graph():
    with pytest.raises(TypeError, match=r"graph 1: .*'int'"):
        disjoint_union(['Bw', 3])


@pytest.mark.parametrize('directed', [nx.DiGraph([(0, 1)]), data(edges=((0, 1), (0, 1)))])
def test_directed_edges_are_taken_as_undirected_with_a_warning(directed):
    with pytest.warns(UserWarning, match='graph 1 is directed: .* taken as undirected'):
        union = disjoint_union([nx.path_graph(2), directed])
    assert union.graph.edge_index.t().tolist() == [[0, 1], [2, 3]]


def test_the_warning_counts_the_graphs_and_points_at_the_caller():
    arc = nx.DiGraph([(0, 1), (0, 2)])
    with pytest.warns(UserWarning, match=r'graph 1 \(and 1 more\) is directed') as record:
        assert wl_classes([nx.path_graph(3), arc, arc]) == [0, 0, 0]
    assert record[0].filename == __file__


def test_loops_and_parallel_edges_are_no_reason_for_a_warning():
    multi = nx.MultiGraph([(0, 1), (0, 1), (1, 1)])
    both = nx.DiGraph([(0, 1), (1, 0)])
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        union = disjoint_union([multi, both])
    np.testing.assert_array_equal(union.graph.edge_index.t(), [[0, 1], [2, 3]])
