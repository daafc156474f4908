import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given
from torch_geometric.data import Data, HeteroData

from graphgym_nc.wl.graphs import to_data, to_graph
from tests.wl.naive import networkx_graphs


def arcs(graph):
    return sorted(map(tuple, graph.edge_index.T.tolist()))


@given(networkx_graphs(labels=False))
def test_all_kinds_give_the_same_graph(graph):
    line = nx.to_graph6_bytes(graph, header=False)
    data = to_data(graph)
    kinds = [to_graph(kind) for kind in (graph, line, line.decode(), data)]
    assert len({kind.num_nodes for kind in kinds}) == 1
    expected = sorted([*graph.edges, *((v, u) for u, v in graph.edges)])
    assert all(arcs(kind) == expected for kind in kinds)


def test_features_of_data():
    data = Data(
        x=torch.tensor([[1.0], [2.0]], dtype=torch.bfloat16),
        edge_index=torch.tensor([[0, 1], [1, 0]], dtype=torch.int32),
        edge_attr=torch.tensor([5, 5]),
    )
    graph = to_graph(data)
    assert graph.x.tolist() == [[1.0], [2.0]]
    assert graph.edge_attr.tolist() == [5, 5]
    assert graph.edge_index.dtype == np.int64


@pytest.mark.parametrize(('node', 'edge'), [('x', 'edge_attr'), ('label', 'label')])
def test_features_of_networkx(node, edge):
    graph = nx.Graph()
    graph.add_node('a', **{node: [0, 1]})
    graph.add_node('b', **{node: torch.tensor([1, 0])})
    graph.add_edge('a', 'b', **{edge: 'double'})
    out = to_graph(graph)
    assert out.x.tolist() == [[0, 1], [1, 0]]
    assert out.edge_attr.tolist() == ['double', 'double']


def test_attributes_that_are_no_features_are_ignored():
    graph = nx.Graph([(0, 1, {'weight': 2.0})], name='no feature')
    nx.set_node_attributes(graph, 'red', 'color')
    out = to_graph(graph)
    assert out.x is None
    assert out.edge_attr is None


@pytest.mark.parametrize(
    ('graph', 'message'),
    [
        (Data(x=torch.ones(2, 1)), "no 'edge_index'"),
        (Data(edge_index=torch.ones(3, 2, dtype=torch.long), num_nodes=4), 'shape .2, E.'),
        (Data(edge_index=torch.ones(2, 2), num_nodes=4), 'must hold integers'),
        (Data(edge_index=torch.tensor([[0], [4]]), num_nodes=4), 'but there are 4 nodes'),
        (Data(edge_index=torch.tensor([[0], [-1]]), num_nodes=4), 'from -1 to 0'),
    ],
)
def test_malformed_data(graph, message):
    with pytest.raises(ValueError, match=message):
        to_graph(graph)


def test_malformed_networkx():
    graph = nx.path_graph(3)
    graph.nodes[0]['x'] = 1
    with pytest.raises(ValueError, match="only 1 of 3 carry the attribute 'x'"):
        to_graph(graph)
    nx.set_node_attributes(graph, {0: [1], 1: [1, 2], 2: [1]}, 'x')
    with pytest.raises(ValueError, match='different shapes'):
        to_graph(graph)


@pytest.mark.parametrize('graph', [HeteroData(), None, [0, 1]])
def test_unknown_types(graph):
    with pytest.raises(TypeError, match='PyG'):
        to_graph(graph)
