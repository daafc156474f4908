import pickle
from itertools import combinations

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader

from graphgym_nc.structures import cells as module
from graphgym_nc.structures.cells import AddCells, Cells, edge_features
from graphgym_nc.structures.data import StructureLoader, TooLargeError
from tests.reference import dense_graph, graphs, neighbours

KEYS = ('cell_edge_index', 'ring_edge', 'ring_size')


def naive_cells(edge_index, num_nodes, max_ring):
    """The edges and the rings, each as a set of sets of nodes: of every subset of the nodes,
    networkx says whether it is a cycle.
    """
    adjacent = neighbours(edge_index, num_nodes)
    graph = nx.Graph([(u, v) for u in range(num_nodes) for v in adjacent[u]])
    rings = set()
    for size in range(3, max_ring + 1):
        for nodes in combinations(graph, size):
            part = graph.subgraph(nodes)
            if all(degree == 2 for _, degree in part.degree) and nx.is_connected(part):
                rings.add(frozenset(map(frozenset, part.edges)))
    return set(map(frozenset, graph.edges)), rings


def found_cells(data):
    edges = [frozenset(ends) for ends in data.cell_edge_index.t().tolist()]
    rings = [
        frozenset(edges[e] for e in ring.tolist())
        for ring in data.ring_edge.split(data.ring_size.tolist())
    ]
    assert len(set(rings)) == len(rings)
    assert len(set(edges)) == len(edges)
    return set(edges), set(rings)


@pytest.mark.parametrize('max_ring', [3, 4, 6])
@settings(max_examples=40)
@given(graph=graphs(max_nodes=9))
def test_cells_are_those_of_networkx(graph, max_ring):
    edge_index, num_nodes = graph
    data = AddCells(max_ring)(Data(edge_index=edge_index, num_nodes=num_nodes))
    assert found_cells(data) == naive_cells(edge_index, num_nodes, max_ring)


@pytest.mark.parametrize(
    ('graph', 'max_ring', 'sizes'),
    [
        (nx.cycle_graph(7), 6, []),
        (nx.cycle_graph(7), 7, [7]),
        (nx.complete_graph(5), 20, 10 * [3]),  # all longer cycles have chords
        (nx.complete_bipartite_graph(3, 3), 6, 9 * [4]),
        (nx.petersen_graph(), 6, 12 * [5] + 10 * [6]),
        (nx.cubical_graph(), 6, 6 * [4] + 4 * [6]),
        (nx.empty_graph(3), 6, []),
    ],
)
def test_rings_that_are_known(graph, max_ring, sizes):
    edge_index = torch.tensor(list(graph.edges), dtype=torch.long).reshape(-1, 2).t()
    data = AddCells(max_ring)(Data(edge_index=edge_index, num_nodes=len(graph)))
    assert sorted(data.ring_size.tolist()) == sizes
    assert data.ring_edge.numel() == sum(sizes)


def test_a_triangle_is_a_ring_without_the_kernel_and_with_it():
    data = Data(edge_index=dense_graph(12), num_nodes=12)
    few, more = AddCells(3)(data), AddCells(4)(data)
    assert few.ring_size.numel() > 20
    triangles = {ring for ring in found_cells(more)[1] if len(ring) == 3}
    assert found_cells(few)[1] == triangles


def some_graphs(edge_attr=False):
    made = [Data(edge_index=dense_graph(n, 0.5, seed=n), num_nodes=n) for n in (7, 5, 8)]
    made.insert(1, Data(edge_index=torch.zeros(2, 0, dtype=torch.long), num_nodes=2))
    made.append(Data(edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 1, 1]]), num_nodes=4))
    for data in made if edge_attr else ():
        data.edge_attr = torch.randn(data.num_edges, 2)
    return made


@pytest.mark.parametrize('max_ring', [3, 5])
def test_a_batch_is_one_graph_of_many_parts(max_ring):
    transform = AddCells(max_ring)
    plain = some_graphs(edge_attr=True)
    prepared = [pickle.loads(pickle.dumps(transform(data))) for data in plain]
    batch = Batch.from_data_list(prepared)
    assert batch.ring_size.numel() > 10
    others = [transform(Batch.from_data_list(plain)), next(iter(DataLoader(prepared, 5)))]
    others += [*StructureLoader(plain, transform, batch_size=5)]
    for other in others:
        for key in (*KEYS, 'cell_column', 'cell_of_column'):
            assert torch.equal(other[key], batch[key]), key
    edges, rings = Cells.of(batch).batches(batch.batch)
    parts = batch.to_data_list()
    assert torch.bincount(edges, minlength=5).tolist() == [
        p.cell_edge_index.size(1) for p in parts
    ]
    assert torch.bincount(rings, minlength=5).tolist() == [p.ring_size.numel() for p in parts]
    assert all(torch.equal(p.ring_edge, q.ring_edge) for p, q in zip(parts, prepared, strict=True))


def test_boundaries():
    data = AddCells(4)(Data(edge_index=dense_graph(8), num_nodes=8))
    (node, edge), (ring_edge, ring) = Cells.of(data).boundaries()
    for e, ends in enumerate(data.cell_edge_index.t().tolist()):
        assert sorted(node[edge == e].tolist()) == ends
    for r, edges in enumerate(data.ring_edge.split(data.ring_size.tolist())):
        assert torch.equal(ring_edge[ring == r], edges)


def test_edge_features_are_the_mean_of_copies():
    edge_index = torch.tensor([[2, 1, 0, 1, 2, 0, 1], [1, 2, 1, 1, 1, 2, 0]])
    data = Data(edge_index=edge_index, num_nodes=3, edge_attr=torch.arange(7.0))
    data = AddCells()(data)
    assert data.cell_edge_index.tolist() == [[0, 0, 1], [1, 2, 2]]
    expected = [[(2 + 6) / 2], [5], [(0 + 1 + 4) / 3]]
    torch.testing.assert_close(edge_features(data, data.edge_attr), torch.tensor(expected))


def test_features_of_no_edges():
    nothing = torch.empty(2, 0, dtype=torch.long)
    data = AddCells()(Data(edge_index=nothing, num_nodes=2, edge_attr=torch.empty(0, 4)))
    assert edge_features(data, data.edge_attr).shape == (0, 4)
    assert edge_features(data, data.edge_attr[:, 0]).shape == (0, 1)


def test_a_search_that_takes_too_long_is_given_up(monkeypatch):
    data = Data(edge_index=dense_graph(12), num_nodes=12)
    monkeypatch.setattr(module, 'MAX_STEPS', 50)
    with pytest.raises(TooLargeError, match=r'rings of up to 5 nodes of a graph of 12 nodes and'):
        AddCells(5)(data)


@pytest.mark.parametrize('max_ring', [3, 5])
def test_too_many_rings_for_this_machine(monkeypatch, max_ring):
    monkeypatch.setattr('os.sysconf', lambda name: 30)  # 900 bytes of memory
    with pytest.raises(TooLargeError, match='would take'):
        AddCells(max_ring)(Data(edge_index=dense_graph(14), num_nodes=14))


def test_arguments():
    assert str(AddCells(6)) == 'AddCells(max_ring=6)'
    with pytest.raises(ValueError, match="'max_ring' must be at least 3"):
        AddCells(2)
    with pytest.raises(ValueError, match=r"needs 'data\.edge_index'"):
        AddCells()(Data(num_nodes=2))


def test_the_number_of_rings_does_not_depend_on_numbering():
    edge_index = dense_graph(11, 0.5)
    order = torch.from_numpy(np.random.default_rng(0).permutation(11))
    first, second = (
        AddCells(6)(Data(edge_index=edges, num_nodes=11))
        for edges in (edge_index, order[edge_index])
    )
    assert torch.equal(first.ring_size.sort().values, second.ring_size.sort().values)
