import copy
from dataclasses import replace

import pytest
import torch
from torch.nn import BatchNorm1d, Dropout, Linear, ReLU, Sequential
from torch_geometric.nn import GraphNorm
from torch_geometric.utils import to_undirected

from graphgym_nc import TriangleIncidence, kernels
from graphgym_nc.nn import NCGNNConv
from graphgym_nc.triangles.merged_edges import MergedEdges
from tests.nn.test_nc_conv import paper_mlp, state
from tests.reference import dense_graph, naive_conv
from tests.triangles.test_twin_pairs import pairs_of

pytest.importorskip('numba')


@pytest.fixture(autouse=True)
def few_edges_are_enough(monkeypatch):
    monkeypatch.setattr('graphgym_nc.triangles.merged_edges._MIN_EDGES', 1)
    monkeypatch.setattr('graphgym_nc.triangles.merged_edges._MIN_SAVED', 1)


def one_hot(num_nodes=12, width=3):
    return torch.eye(width)[torch.arange(num_nodes) % width]


def test_edges_with_the_same_ends_are_one():
    x, edge_index = one_hot(), dense_graph(12)
    incidence = TriangleIncidence.build(edge_index, 12)
    edges = MergedEdges.by_features(incidence, x)
    before = [tuple(sorted(e)) for e in (incidence.endpoints.col.view(-1, 2) % 3).tolist()]
    after = [tuple(sorted(e)) for e in (edges.endpoints.col.view(-1, 2) % 3).tolist()]
    assert len(after) == len(set(after)) == 6
    assert [after[i] for i in edges.merged.col] == before
    assert sum(edges.weight.tolist()) == edges.num_messages == incidence.num_messages
    rows = torch.randn(6, 2, dtype=torch.double)
    torch.testing.assert_close(
        edges.sum_opposite(rows), incidence.sum_opposite(rows[edges.merged.col.long()])
    )
    nodes = torch.eye(12, dtype=torch.double)
    every = edges.sum_opposite(torch.eye(6, dtype=torch.double))
    torch.testing.assert_close(edges.gather_opposite(nodes), every.t())


@pytest.mark.parametrize('width', [4, 2])  # as wide as, and narrower than, the input
def test_layer_equals_naive_reference(width):
    torch.manual_seed(0)
    x, edge_index = one_hot(width=4), dense_graph(12)
    conv = NCGNNConv(paper_mlp(4, width), paper_mlp())
    reference = copy.deepcopy(conv).double()
    for training in (True, True, False):
        conv.train(training)
        reference.train(training)
        ours = state(conv, x, conv(x, edge_index), [])
        naive = naive_conv(reference, x.double(), edge_index)
        theirs = state(reference, x, naive, [])
        for a, b in zip(ours, theirs, strict=True):
            torch.testing.assert_close(a.double(), b.double(), rtol=2e-3, atol=2e-3)


def test_pairs_of_twins_are_merged_further():
    cliques = [torch.combinations(torch.arange(i, i + 5)).t() for i in (0, 5, 10)]
    edge_index = to_undirected(torch.cat(cliques, dim=1))
    x = torch.ones(15, 2)
    pairs = pairs_of(edge_index, x)
    edges = MergedEdges.by_features(pairs, x)
    assert (pairs.num_edges, edges.num_edges) == (3, 1)
    assert edges.sum_opposite(torch.ones(1, 1)).flatten().tolist() == [6] * 15


def test_left_as_they_are():
    x, edge_index = one_hot(), dense_graph(12)
    incidence = TriangleIncidence.build(edge_index, 12)
    asked_for = x.clone().requires_grad_()
    assert MergedEdges.by_features(incidence, asked_for) is incidence
    with torch.no_grad():
        assert MergedEdges.by_features(incidence, asked_for) is not incidence
    assert MergedEdges.by_features(incidence, x.double()) is incidence
    assert MergedEdges.by_features(incidence, x.to('meta')) is incidence
    with kernels.use('torch'):
        assert MergedEdges.by_features(incidence, x) is incidence


def test_left_as_they_are_if_that_saves_little(monkeypatch):
    x, edge_index = one_hot(), dense_graph(12)
    incidence = TriangleIncidence.build(edge_index, 12)
    for name, value in (('_MIN_EDGES', 1000), ('_MIN_SAVED', 100), ('_MAX_DIFFERENT', 2)):
        with monkeypatch.context() as patch:
            patch.setattr(f'graphgym_nc.triangles.merged_edges.{name}', value)
            assert MergedEdges.by_features(incidence, x) is incidence


def test_narrowing_layer_without_kernels_equals_naive_reference():
    """Of few edges, and in float64."""
    torch.manual_seed(0)
    edge_index = dense_graph(10, 0.3)
    conv = NCGNNConv(Sequential(Linear(6, 2), BatchNorm1d(2), ReLU()), paper_mlp(6, 6)).double()
    reference = copy.deepcopy(conv)
    x = torch.randn(10, 6, dtype=torch.double, requires_grad=True)
    assert 0 < TriangleIncidence.build(edge_index, 10).num_edges <= 10
    ours = state(conv, x, conv(x, edge_index), [x])
    theirs = state(reference, x, naive_conv(reference, x, edge_index), [x])
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a, b)


def test_narrowing_layer_names_a_wrong_width():
    conv = NCGNNConv(Sequential(Linear(6, 2)), Linear(6, 5))
    with pytest.raises(ValueError, match=r"'nn_communicate' must map .* \(6, got 5\)"):
        conv(torch.ones(10, 6), dense_graph(10, 0.3))


def test_narrowing_layer_with_an_activation_used_twice():
    act = ReLU()
    conv = NCGNNConv(Sequential(Linear(6, 2), act, Linear(2, 2), act), Linear(6, 6))
    out = conv(torch.randn(10, 6), dense_graph(10, 0.3))
    assert out.min() == 0
    assert out.max() > 0


def test_features_of_other_nodes_are_refused_before_they_are_read():
    incidence = TriangleIncidence.build(dense_graph(12), 12)
    conv = NCGNNConv(Linear(3, 3), Linear(3, 3))
    with pytest.raises(
        ValueError, match="'x' has 9 rows, but the triangles belong to a graph of 12"
    ):
        conv(one_hot(9), dense_graph(9), incidence)


@pytest.mark.parametrize('layer', [GraphNorm(3), Dropout(0.5)])
def test_networks_that_may_tell_rows_apart_see_every_edge(layer):
    x, edge_index = one_hot(), dense_graph(12)
    nn, rows = Sequential(Linear(3, 3), layer), []
    incidence = TriangleIncidence.build(edge_index, 12)
    layer.register_forward_hook(lambda module, args, out: rows.append(out.size(0)))
    NCGNNConv(Linear(3, 3), nn)(x, edge_index, incidence)
    alike = replace(incidence, pairs=pairs_of(edge_index, torch.zeros(12, 3)))
    NCGNNConv(Linear(3, 3), nn)(x, edge_index, alike)
    assert rows == [incidence.num_edges] * 2


def test_narrowing_layer_under_autocast_has_the_type_of_others():
    x = torch.randn(10, 6)
    with torch.autocast('cpu', torch.bfloat16):
        for p in (0.3, 0.9):
            conv = NCGNNConv(Sequential(Linear(6, 2)), Linear(6, 6))
            assert conv(x, dense_graph(10, p)).dtype == torch.bfloat16
