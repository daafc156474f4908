from itertools import combinations
from math import comb

import pytest
import torch
from hypothesis import given, settings
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader

from graphgym_nc.structures import sets as module
from graphgym_nc.structures.data import TooLargeError
from graphgym_nc.structures.sets import AddSets, num_types
from tests.reference import dense_graph, graphs, neighbours
from tests.structures.test_cells import some_graphs

KEYS = [
    f'{name}_{kind}' for name in ('pair', 'triple') for kind in ('index', 'edge_index', 'type')
]


def naive_sets(edge_index, num_nodes, size):
    """The sets, the adjacent ones, and the number of edges of each, as Python's sets."""
    adjacent = neighbours(edge_index, num_nodes)

    def edges(nodes):
        return sum(v in adjacent[u] for u, v in combinations(nodes, 2))

    sets = {frozenset(c) for c in combinations(range(num_nodes), size) if edges(c) >= size - 1}
    if size == 2:
        sets = {frozenset(pair) for pair in combinations(range(num_nodes), 2)}
    ways = {
        (nodes, nodes - {gone} | {new})
        for nodes in sets
        for gone in nodes
        for new in adjacent[gone] - nodes
        if nodes - {gone} | {new} in sets
    }
    return sets, ways, {nodes: edges(nodes) for nodes in sets}


@settings(max_examples=60)
@given(graphs(max_nodes=9))
def test_sets_are_those_of_a_naive_search(graph):
    edge_index, num_nodes = graph
    data = AddSets()(Data(edge_index=edge_index, num_nodes=num_nodes))
    for name, size in (('pair', 2), ('triple', 3)):
        columns = data[f'{name}_index'].t().tolist()
        assert columns == sorted(map(sorted, columns))
        sets, ways, edges = naive_sets(edge_index, num_nodes, size)
        found = [frozenset(column) for column in columns]
        assert set(found) == sets
        assert len(found) == len(sets)
        pairs = data[f'{name}_edge_index'].t().tolist()
        assert pairs == sorted(pairs)
        assert {(found[a], found[b]) for a, b in pairs} == ways
        assert len(pairs) == len(ways)
        types = [edges[nodes] - (size - 2) * 2 for nodes in found]
        assert data[f'{name}_type'].tolist() == types


def test_types_tell_edges_and_labels_and_nothing_else():
    edge_index, labels = dense_graph(9, 0.6), torch.arange(9) % 4
    data = AddSets(labels=True)(Data(edge_index=edge_index, x=torch.eye(4)[labels]))
    for name, size in (('pair', 2), ('triple', 3)):
        kind_of = {}
        for nodes, kind in zip(
            data[f'{name}_index'].t(), data[f'{name}_type'].tolist(), strict=True
        ):
            ways = naive_sets(edge_index, 9, size)[2]
            kind_of.setdefault(
                (ways[frozenset(nodes.tolist())], *sorted(labels[nodes].tolist())), set()
            ).add(kind)
        kinds = [kind for (kind,) in kind_of.values()]  # one for each
        assert len(set(kinds)) == len(kinds)
        assert max(kinds) < num_types(size, 4)


@pytest.mark.parametrize('labels', [1, 2, 5, 37])
def test_the_number_of_types(labels):
    assert num_types(2, labels) == 2 * comb(labels + 1, 2)
    assert num_types(3, labels) == 2 * comb(labels + 2, 3)


def test_a_wedge_is_no_triangle_however_it_is_numbered():
    for middle in range(3):
        ends = [v for v in range(3) if v != middle]
        edge_index = torch.tensor([[middle, middle], ends])
        assert AddSets()(Data(edge_index=edge_index, num_nodes=3)).triple_type.tolist() == [0]
    triangle = torch.tensor([[0, 0, 1], [1, 2, 2]])
    assert AddSets()(Data(edge_index=triangle, num_nodes=3)).triple_type.tolist() == [1]


def test_a_batch_is_one_graph_of_many_parts():
    plain = some_graphs()
    prepared = [AddSets()(data) for data in plain]
    batch = Batch.from_data_list(prepared)
    for other in (AddSets()(Batch.from_data_list(plain)), next(iter(DataLoader(prepared, 5)))):
        for key in KEYS:
            assert torch.equal(other[key], batch[key]), key
    assert torch.equal(batch.to_data_list()[2].pair_edge_index, prepared[2].pair_edge_index)


def test_memory_is_asked_for_before_it_is_taken(monkeypatch):
    asked = {}
    monkeypatch.setattr(module, 'check_size', lambda nbytes, what: asked.update({what: nbytes}))
    data = AddSets()(Data(edge_index=dense_graph(14), num_nodes=14))

    def nbytes(*keys):
        return sum(data[key].numel() * data[key].element_size() for key in keys)

    assert asked['the pairs of nodes'] >= nbytes('pair_index', 'pair_edge_index')
    assert asked['the triples of nodes'] >= nbytes('triple_index')
    assert asked['the adjacent triples of nodes'] >= nbytes('triple_edge_index')


def test_sets_that_do_not_fit(monkeypatch):
    monkeypatch.setattr('os.sysconf', lambda name: 30)  # 900 bytes of memory
    with pytest.raises(TooLargeError, match='the pairs of nodes would take'):
        AddSets()(Data(edge_index=dense_graph(14), num_nodes=14))


def test_arguments():
    assert str(AddSets(True)) == 'AddSets(labels=True)'
    with pytest.raises(ValueError, match=r"needs 'data\.edge_index'"):
        AddSets()(Data(num_nodes=2))
    for x in (None, torch.full((9, 2), 0.5), torch.ones(9, 2)):
        with pytest.raises(ValueError, match='takes the labels of nodes from one-hot features'):
            AddSets(True)(Data(edge_index=dense_graph(9), x=x, num_nodes=9))
