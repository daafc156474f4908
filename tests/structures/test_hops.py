import copy
import pickle

import hypothesis.strategies as st
import networkx as nx
import pytest
import torch
from hypothesis import given, settings
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader

from graphgym_nc import kernels
from graphgym_nc.structures.data import TooLargeError
from graphgym_nc.structures.hops import Hops, KHops
from graphgym_nc.structures.peripheral import Peripheral
from graphgym_nc.transforms import KHops as Exported
from tests.reference import dense_graph, graphs
from tests.structures.naive_hops import hop_neighbours, peripheral, types_of, walks


def data_of(graph, **more):
    edge_index, num_nodes = graph
    return Data(edge_index=edge_index, num_nodes=num_nodes, **more)


def of_networkx(graph):
    edge_index = (
        torch.tensor(sorted(graph.to_directed().edges), dtype=torch.long).reshape(-1, 2).t()
    )
    return Data(edge_index=edge_index, num_nodes=len(graph))


def lists(data, k):
    """The neighbours of every node at hop k, as they are stored."""
    begin = 0 if k == 1 else 1 + (k - 2) * ((data.hop_counts.size(1) - 1) // 2)
    width = 1 if k == 1 else (data.hop_counts.size(1) - 1) // 2
    degree = data.hop_counts[:, begin : begin + width].sum(dim=1)
    return [x.tolist() for x in data[f'hop{k}_index'].split(degree.tolist())]


@settings(max_examples=60)
@given(graphs(), st.sampled_from(['spd', 'gd']), st.integers(1, 9))
def test_neighbours_and_walks(graph, kernel, max_walks):
    edge_index, num_nodes = graph
    transform = KHops(3, kernel, max_walks, closed_walks=True, peripheral=None)
    data = transform(data_of(graph))
    for k in (1, 2, 3):
        expected = hop_neighbours(edge_index, num_nodes, k, kernel)
        assert lists(data, k) == [sorted(of_node) for of_node in expected]
        width = 1 if k == 1 else max_walks
        begin = 0 if k == 1 else 1 + (k - 2) * max_walks
        counts = data.hop_counts[:, begin : begin + width].tolist()
        for of_node, count in zip(expected, counts, strict=True):
            numbers = [min(number, width) for number in of_node.values()]
            assert count == [numbers.count(number) for number in range(1, width + 1)]
        if k > 1:
            back = walks(edge_index, num_nodes, k).diagonal()
            closed = data.hop_closed[:, k - 2].tolist()
            assert closed == [min(number, max_walks) for number in back]


@pytest.mark.parametrize('kernel', ['auto', 'torch'])
@settings(max_examples=40)
@given(graphs(), st.data())
def test_peripheral_subgraphs(kernel, graph, drawn):
    edge_index, num_nodes = graph
    kind = drawn.draw(st.lists(st.integers(0, 2), min_size=edge_index.size(1),
                               max_size=edge_index.size(1)))  # fmt: skip
    limits = Peripheral(types=2, edges=7, levels=2, pairs=11)
    hop_kernel = drawn.draw(st.sampled_from(['spd', 'gd']))
    transform = KHops(2, hop_kernel, edge_types=3, peripheral=limits)
    with kernels.use(kernel):
        data = transform(data_of(graph, edge_attr=torch.tensor(kind, dtype=torch.long)))
    types = types_of(edge_index, kind)
    for k in (1, 2):
        expected = hop_neighbours(edge_index, num_nodes, k, hop_kernel)
        for v, nodes in enumerate(expected):
            number, told = peripheral(types, nodes, 3, 2)
            most = sorted(range(3), key=lambda t: (-number[t], t))[:2]
            most = [[t, min(number[t], 7)] if number[t] else [0, 0] for t in most]
            assert data.hop_edges[v, k - 1].tolist() == most
            assert data.hop_levels[v, k - 1].tolist() == [min(n, 11) for n in told]


def test_by_hand():
    """A triangle 0, 1, 2 with a path 2, 3, 4 on it."""
    graph = nx.Graph([(0, 1), (0, 2), (1, 2), (2, 3), (3, 4)])
    data = KHops(3, max_walks=5)(of_networkx(graph))
    assert lists(data, 1)[2] == [0, 1, 3]
    assert lists(data, 2)[3] == [0, 1]
    assert lists(data, 3)[4] == [0, 1]
    # Of 0's neighbours, 1 and 2 are an edge: twice, and as two pairs at distance 1.
    assert data.hop_edges[0, 0].tolist() == [[0, 2]]
    assert data.hop_levels[0, 0].tolist() == [0, 2, 0, 0, 0, 0]
    assert data.hop_levels[4].sum() == data.hop_levels[4, 2, 1] == 2  # 0 and 1 at hop 3
    wheel = KHops(1)(of_networkx(nx.wheel_graph(5)))  # the hub's neighbours are a cycle of 4
    assert wheel.hop_edges[0, 0].tolist() == [[0, 8]]
    assert wheel.hop_levels[0, 0].tolist() == [0, 8, 4, 0, 0, 0]
    of_rim = wheel.hop_levels[1, 0].tolist()  # a path of 3
    assert of_rim == [0, 4, 2, 0, 0, 0]
    clique = KHops(1)(of_networkx(nx.complete_graph(4)))  # 3 nodes, each opposite to an edge
    assert clique.hop_levels[0, 0].tolist() == [12, 6, 0, 0, 0, 0]


def test_numbers_of_walks_do_not_overflow():
    data = KHops(40, 'gd', max_walks=3, peripheral=None)(of_networkx(nx.complete_graph(9)))
    assert (data.hop_counts[:, -3:] == torch.tensor([0, 0, 8])).all()


def test_edge_types_from_one_hot_vectors():
    edge_index = torch.tensor([[0, 1], [1, 2]])
    for edge_attr in (torch.eye(2), torch.tensor([[0], [1]]), torch.tensor([0.0, 1.0])):
        data = KHops(1, edge_types=2)(data_of((edge_index, 3), edge_attr=edge_attr))
        assert data.hop_counts.tolist() == [[1, 0], [1, 1], [0, 1]]
    with pytest.raises(ValueError, match=r"'edge_types' is 2, but 'edge_attr' holds types from"):
        KHops(1, edge_types=2)(data_of((edge_index, 3), edge_attr=torch.tensor([0, 2])))
    with pytest.raises(ValueError, match=r"'edge_types' is 2, but .* has no 'edge_attr'"):
        KHops(1, edge_types=2)(data_of((edge_index, 3)))


def cases():
    return [
        of_networkx(graph)
        for graph in (
            nx.path_graph(1),
            nx.lollipop_graph(4, 3),
            nx.empty_graph(2),
            nx.cycle_graph(5),
        )
    ]


@pytest.mark.parametrize('kernel', ['spd', 'gd'])
def test_a_batch_is_one_graph(kernel):
    transform = KHops(3, kernel, 4, closed_walks=True)
    together = transform(Batch.from_data_list(cases()))
    single = Batch.from_data_list([transform(data) for data in cases()])
    ours, theirs = Hops.of(together, transform), Hops.of(single, transform)
    assert torch.equal(ours.rowptr, theirs.rowptr)
    assert torch.equal(ours.col, theirs.col)
    for key in ('hop_counts', 'hop_closed', 'hop_edges', 'hop_levels'):
        assert torch.equal(together[key], single[key])
    loaded = next(iter(DataLoader(pickle.loads(pickle.dumps(single.to_data_list())), 4)))
    assert torch.equal(Hops.of(copy.copy(loaded), transform).col, ours.col)


@given(graphs(min_nodes=2), st.randoms(use_true_random=False))
def test_numbering_does_not_matter(graph, random):
    edge_index, num_nodes = graph
    order = list(range(num_nodes))
    random.shuffle(order)
    order = torch.tensor(order)
    data = KHops(2)(data_of(graph))
    other = KHops(2)(data_of((order[edge_index], num_nodes)))
    for key in ('hop_counts', 'hop_edges', 'hop_levels'):
        assert torch.equal(other[key][order], data[key])


@given(graphs(), st.sampled_from(['spd', 'gd']))
def test_sums_over_first_hops(graph, kernel):
    edge_index, num_nodes = graph
    transform = KHops(3, kernel)
    hops = Hops.of(transform(data_of(graph)), transform)
    for number in (1, 2, 3):
        x = torch.randn(number, num_nodes, 2, dtype=torch.double, requires_grad=True)
        out = hops.sum(x)
        expected = torch.zeros_like(x)
        for k in range(number):
            for v, nodes in enumerate(hop_neighbours(edge_index, num_nodes, k + 1, kernel)):
                for u in nodes:
                    expected[k, v] += x[k, u]
        torch.testing.assert_close(out, expected)
        weight = torch.randn_like(out)
        (ours,) = torch.autograd.grad(out, x, weight)
        if expected.requires_grad:
            (theirs,) = torch.autograd.grad(expected, x, weight, allow_unused=True)
            torch.testing.assert_close(ours, torch.zeros_like(x) if theirs is None else theirs)


def test_narrow_indices():
    edge_index, num_nodes = torch.tensor([[69_998, 3], [69_999, 69_999]]), 70_000
    wide, narrow = (
        KHops(2, peripheral=None)(data_of((edges, num_nodes)))
        for edges in (edge_index, edge_index.int())
    )
    for key in ('hop1_index', 'hop2_index', 'hop_counts'):
        assert torch.equal(wide[key], narrow[key])


def test_too_large(monkeypatch):
    monkeypatch.setattr('os.sysconf', lambda name: 1000)  # 1 MB of memory
    with pytest.raises(TooLargeError, match='the numbers of walks at 2 hops would take'):
        KHops(2, max_walks=10**6, peripheral=None)(of_networkx(nx.path_graph(100)))
    KHops(2)(of_networkx(nx.path_graph(100)))
    with pytest.raises(TooLargeError, match='the neighbours at 2 hops would take'):
        KHops(2, peripheral=None)(of_networkx(nx.star_graph(250)))
    with pytest.raises(TooLargeError, match='the peripheral subgraphs would take'):
        KHops(10)(of_networkx(nx.empty_graph(9000)))
    with pytest.raises(TooLargeError, match='the peripheral subgraph of a node would take'):
        KHops(1)(of_networkx(nx.star_graph(2000)))


def test_what_does_not_go_together():
    with pytest.raises(ValueError, match=r"'kernel' is 'walk', but must be one of spd, gd"):
        KHops(kernel='walk')
    with pytest.raises(ValueError, match=r"'hops' is 0, but must be at least 1"):
        KHops(0)
    with pytest.raises(ValueError, match=r'must go through KHops\(hops=3, kernel=spd'):
        Hops.of(KHops(2)(cases()[1]), KHops(3))
    for found, asked in (
        (KHops(2, peripheral=None), KHops(2)),
        (KHops(2), KHops(2, closed_walks=True)),
        (KHops(2, max_walks=2), KHops(3)),
        (KHops(2), KHops(2, peripheral=Peripheral(levels=2))),
    ):
        with pytest.raises(ValueError, match=r'must go through KHops\('):
            Hops.of(found(cases()[1]), asked)
    with pytest.raises(ValueError, match=r"needs 'data.edge_index'"):
        KHops()(Data(num_nodes=2))


def test_its_name_tells_all():
    assert Exported is KHops
    assert str(KHops(2)) != str(KHops(2, peripheral=Peripheral(pairs=7)))
    assert str(KHops(2)) == (
        'KHops(hops=2, kernel=spd, max_walks=1, edge_types=1, closed_walks=False, '
        'peripheral=Peripheral(types=1, edges=50, levels=5, pairs=100))'
    )


def test_a_graph_is_not_changed_behind_its_owners_back():
    data = data_of((dense_graph(), 9))
    KHops(2)(data)
    assert 'hop_counts' not in data
