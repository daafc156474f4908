import copy
import pickle

import networkx as nx
import pytest
import torch
from hypothesis import given, settings
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader
from torch_geometric.transforms import RootedEgoNets

from graphgym_nc.structures import roots as module
from graphgym_nc.structures.data import TooLargeError
from graphgym_nc.structures.subgraphs import EgoNets, Subgraphs, WalkSubgraphs
from tests.reference import dense_graph, graphs


def data_of(graph):
    edge_index, num_nodes = graph
    return Data(edge_index=edge_index, num_nodes=num_nodes)


def as_sets(subgraphs):
    """Every root's nodes with their distances, and its edges by their columns."""
    nodes, edges = {}, {}
    root_of_row = subgraphs.root_index.tolist()
    for row, node in enumerate(subgraphs.index.tolist()):
        nodes.setdefault(root_of_row[row], {})[node] = int(subgraphs.hop[row])
    for column, row in zip(subgraphs.edge.tolist(), subgraphs.edge_index[1].tolist(), strict=True):
        edges.setdefault(root_of_row[row], []).append(column)
    return nodes, {root: sorted(columns) for root, columns in edges.items()}


def assert_consistent(data, subgraphs):
    """All that the indices must say of each other."""
    sender, receiver = subgraphs.edge_index
    assert torch.equal(subgraphs.index[subgraphs.edge_index], data.edge_index[:, subgraphs.edge])
    assert torch.equal(subgraphs.root_index[sender], subgraphs.root_index[receiver])
    roots = torch.arange(data.num_nodes)
    assert torch.equal(subgraphs.index[subgraphs.root_row], roots)
    assert torch.equal(subgraphs.root_index[subgraphs.root_row], roots)
    assert bool((subgraphs.root_index.diff() >= 0).all())
    assert bool((receiver.diff() >= 0).all())
    dense = torch.zeros(subgraphs.num_rows, subgraphs.num_rows)
    dense.index_put_((receiver, sender), torch.tensor(1.0), accumulate=True)
    ones = torch.eye(subgraphs.num_rows)
    torch.testing.assert_close(subgraphs.adjacency.row_sum(ones), dense)


def naive_ego_net(data, root, hops):
    """Breadth-first search against the direction of edges."""
    distance, last = {root: 0}, {root}
    for hop in range(1, hops + 1):
        last = {u for u, v in data.edge_index.t().tolist() if v in last} - distance.keys()
        distance.update(dict.fromkeys(last, hop))
    return distance


def induced(data, nodes):
    return [i for i, (u, v) in enumerate(data.edge_index.t().tolist()) if {u, v} <= nodes.keys()]


@settings(max_examples=60)
@given(graphs())
@pytest.mark.parametrize('hops', [1, 2, 3])
def test_ego_nets_are_those_of_a_search(hops, graph):
    data = data_of(graph)
    subgraphs = Subgraphs.of(EgoNets(hops)(data))
    assert_consistent(data, subgraphs)
    nodes, edges = as_sets(subgraphs)
    assert nodes == {root: naive_ego_net(data, root, hops) for root in range(data.num_nodes)}
    assert edges == {root: columns for root in nodes if (columns := induced(data, nodes[root]))}


@pytest.mark.filterwarnings('ignore:Sparse')
def test_ego_nets_are_those_of_pyg():
    data = Data(edge_index=dense_graph(30, 0.15), num_nodes=30)
    for hops in (1, 2, 4):
        theirs, ours = RootedEgoNets(hops)(data), Subgraphs.of(EgoNets(hops)(data))
        assert torch.equal(ours.index, theirs.n_id)
        assert torch.equal(ours.root_index, theirs.n_sub_batch)
        order = (ours.root_index[ours.edge_index[1]] * data.num_edges + ours.edge).argsort()
        assert torch.equal(ours.edge[order], theirs.e_id)
        assert torch.equal(ours.edge_index[:, order], theirs.sub_edge_index)


def test_by_hand():
    # 0 - 1 - 2, and 3 alone.
    data = Data(edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), num_nodes=4)
    data = EgoNets(1)(data)
    assert data.sub_index.tolist() == [0, 1, 0, 1, 2, 1, 2, 3]
    assert data.sub_root_index.tolist() == [0, 0, 1, 1, 1, 2, 2, 3]
    assert data.sub_root_row.tolist() == [0, 3, 6, 7]
    assert data.sub_hop.tolist() == [0, 1, 1, 0, 1, 1, 0, 0]
    assert data.sub_edge_index.tolist() == [[1, 0, 3, 2, 4, 3, 6, 5], [0, 1, 2, 3, 3, 4, 5, 6]]
    assert data.sub_edge.tolist() == [1, 0, 1, 0, 3, 2, 3, 2]


def test_more_hops_than_any_distance():
    path = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    far, near = (EgoNets(hops)(Data(edge_index=path, num_nodes=4)) for hops in (10**9, 2))
    assert_same(Subgraphs.of(far).tensors(), Subgraphs.of(near).tensors())


@settings(max_examples=40)
@given(graphs())
def test_walks_go_along_edges(graph):
    data = data_of(graph)
    subgraphs = Subgraphs.of(WalkSubgraphs(4, 2)(data))
    assert_consistent(data, subgraphs)
    nodes, edges = as_sets(subgraphs)
    for root, inside in nodes.items():
        assert edges.get(root, []) == induced(data, inside)
        back = nx.DiGraph(
            [tuple(data.edge_index[:, i].flip(0).tolist()) for i in edges.get(root, [])]
        )
        back.add_node(root)
        assert inside == dict(nx.single_source_shortest_path_length(back, root))
        assert max(inside.values()) <= 4
        assert len(inside) <= 1 + 2 * 4


def test_walks_reach_all_neighbours_alike():
    # Of 3 neighbours of the centre of a star, one step finds each with probability 1/3.
    edges = [(i, 0) for i in (1, 2, 3)] + [(0, i) for i in (1, 2, 3)]
    batch = Batch.from_data_list([Data(edge_index=torch.tensor(edges).t(), num_nodes=4)] * 3000)
    torch.manual_seed(0)
    subgraphs = Subgraphs.of(WalkSubgraphs(1, 1)(batch))
    of_centre = (subgraphs.root_index % 4 == 0) & (subgraphs.index % 4 > 0)
    found = torch.bincount(subgraphs.index[of_centre] % 4, minlength=4)
    assert found.sum() == 3000
    assert (found[1:] - 1000).abs().max() < 100  # almost 4 standard deviations


def test_walks_are_drawn_anew_and_follow_torchs_seed():
    data, transform = Data(edge_index=dense_graph(20), num_nodes=20), WalkSubgraphs(3, 2)
    assert transform.random
    torch.manual_seed(0)
    first, second = (transform(data).sub_index for _ in range(2))
    torch.manual_seed(0)
    assert torch.equal(transform(data).sub_index, first)
    assert not torch.equal(first, second)


def some_graphs():
    graphs = [Data(edge_index=dense_graph(n, 0.3, seed=n), num_nodes=n) for n in (7, 1, 5)]
    return [*graphs, Data(edge_index=torch.empty(2, 0, dtype=torch.long), num_nodes=3)]


def assert_same(first, second):
    assert first.keys() == second.keys()
    for name, tensor in first.items():
        assert torch.equal(tensor, second[name]), name


@pytest.mark.parametrize('copied', [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_a_batch_is_one_graph_of_many_parts(copied):
    transform = EgoNets(2)
    of_batch = Subgraphs.of(transform(Batch.from_data_list(some_graphs()))).tensors()
    single = [copied(transform(data)) for data in some_graphs()]
    batch = next(iter(DataLoader(single, batch_size=4)))
    assert_same(of_batch, Subgraphs.of(batch).tensors())
    for data, alone in zip(batch.to_data_list(), single, strict=True):
        assert_same(Subgraphs.of(data).tensors(), Subgraphs.of(alone).tensors())


@pytest.mark.parametrize('transform', [EgoNets(2), WalkSubgraphs(3, 2)])
@pytest.mark.parametrize('chunk', [1, 100])
def test_some_roots_at_a_time(monkeypatch, transform, chunk):
    batch = Batch.from_data_list(some_graphs())
    monkeypatch.setattr(torch, 'rand', torch.zeros)  # the same walks, whatever is asked first
    whole = Subgraphs.of(transform(batch.clone())).tensors()
    monkeypatch.setattr(module, 'CHUNK', chunk)
    assert_same(Subgraphs.of(transform(batch)).tensors(), whole)


def test_a_graph_without_nodes():
    data = Data(edge_index=torch.empty(2, 0, dtype=torch.long), num_nodes=0)
    assert Subgraphs.of(EgoNets(2)(data)).num_rows == 0
    assert Subgraphs.of(WalkSubgraphs(2, 2)(data)).num_rows == 0


def test_what_would_be_too_large_is_not_built(monkeypatch):
    data = Data(edge_index=dense_graph(40, 0.9), num_nodes=40)
    monkeypatch.setattr(module, 'CHUNK', 1)  # so that the first of 40 roots tells
    size = sum(tensor.nbytes for tensor in Subgraphs.of(EgoNets(1)(data)).tensors().values())
    page = int((2 * 1.5 * size) ** 0.5)
    monkeypatch.setattr('os.sysconf', lambda name: page)
    EgoNets(1)(data)
    page = int((2 * 0.7 * size) ** 0.5)
    with pytest.raises(TooLargeError, match=r'rooted subgraphs of 1 hops would take 1\.\d+ MB'):
        EgoNets(1)(data)


def test_a_graph_that_was_not_prepared():
    with pytest.raises(ValueError, match="no rooted subgraphs: apply a transform such as 'EgoN"):
        Subgraphs.of(Data(num_nodes=1))


def test_names():
    assert str(EgoNets(3)) == 'EgoNets(hops=3)'
    assert str(WalkSubgraphs(10, 5)) == 'WalkSubgraphs(length=10, repeat=5)'
