import copy
import pickle

import pytest
import torch
from hypothesis import given, settings
from torch_geometric.data import Batch, Data

from graphgym_nc import kernels
from graphgym_nc.structures.data import TooLargeError
from graphgym_nc.transforms import EdgeNeighbourhoods
from tests.reference import dense_graph, graphs, naive_triangles, neighbours

KEYS = ('state_index', 'state_triangle_index', 'edge_state')


def data_of(graph):
    edge_index, num_nodes = graph
    edge_attr = torch.arange(edge_index.size(1)).view(-1, 1)
    return Data(edge_index=edge_index, num_nodes=num_nodes, edge_attr=edge_attr)


@pytest.mark.parametrize('kernel', ['auto', 'torch'])
@given(graph=graphs())
@settings(max_examples=60)
def test_equals_sets(kernel, graph):
    edge_index, num_nodes = graph
    with kernels.use(kernel):
        data = EdgeNeighbourhoods()(data_of(graph))
    adjacent = neighbours(edge_index, num_nodes)
    states = [(u, v) for u in range(num_nodes) for v in sorted(adjacent[u] or {u})]
    assert list(map(tuple, data.state_index.t().tolist())) == states

    triangles = [[states[i] for i in column] for column in data.state_triangle_index.t().tolist()]
    assert triangles == [
        [(a, b), (b, a), (a, c), (c, a), (b, c), (c, b)]
        for a, b, c in naive_triangles(edge_index, num_nodes)
    ]
    for edge, state in zip(edge_index.t().tolist(), data.edge_state.tolist(), strict=True):
        dropped = edge[0] == edge[1] and adjacent[edge[0]]
        assert states[state] == tuple(edge) or (dropped and states[state][0] == edge[0])


@given(graphs(), graphs(min_nodes=3))
@settings(max_examples=30)
def test_a_batch_is_one_graph(first, second):
    data = [data_of(first), data_of(second)]
    apart = Batch.from_data_list([EdgeNeighbourhoods()(graph) for graph in data])
    together = EdgeNeighbourhoods()(Batch.from_data_list(data))
    for key in KEYS:
        assert torch.equal(apart[key], together[key])


@pytest.mark.parametrize('copied', [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_batch_alike(copied):
    graph = EdgeNeighbourhoods()(data_of((dense_graph(6), 7)))
    batch = Batch.from_data_list([copied(graph), copied(graph)])
    size = graph.state_index.size(1)
    for key in KEYS[1:]:
        number = graph[key].size(-1)
        assert torch.equal(batch[key][..., number:], graph[key] + size)


def test_narrow_indices():
    edge_index, num_nodes = torch.tensor([[69_998, 69_999, 69_999], [69_999, 69_998, 3]]), 70_000
    wide, narrow = (
        EdgeNeighbourhoods()(data_of((edges, num_nodes)))
        for edges in (edge_index, edge_index.int())
    )
    for key in KEYS:
        assert torch.equal(wide[key], narrow[key])


def test_edges_in_order_are_the_states():
    edge_index = dense_graph(6)
    data = EdgeNeighbourhoods()(Data(edge_index=edge_index, num_nodes=6))
    assert torch.equal(data.state_index, edge_index)
    assert 'edge_state' not in data


def test_what_does_not_fit(monkeypatch):
    monkeypatch.setattr('os.sysconf', lambda name: 30)  # 900 bytes of memory
    with pytest.raises(TooLargeError, match='the states of the triangles would take'):
        EdgeNeighbourhoods()(Data(edge_index=dense_graph(12), num_nodes=12))


def test_transform():
    assert repr(EdgeNeighbourhoods()) == 'EdgeNeighbourhoods()'
    with pytest.raises(ValueError, match=r"needs 'data\.edge_index'"):
        EdgeNeighbourhoods()(Data(num_nodes=2))
