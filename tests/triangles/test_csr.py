import pickle
from collections import Counter

import hypothesis.strategies as st
import pytest
import torch
from hypothesis import given
from torch_geometric.data import Batch, Data

from graphgym_nc import TriangleIncidence, find_triangles, kernels
from graphgym_nc.transforms import AddTriangles
from graphgym_nc.triangles.csr import CSR
from tests.incidences import opposite
from tests.reference import dense_graph, graphs, naive_messages


def messages(incidence: TriangleIncidence) -> Counter:
    """The (receiver, {u1, u2}) that an incidence stands for."""
    ends = incidence.endpoints.col.view(-1, 2).tolist()
    found = opposite(incidence)
    assert ((found == 0) | (found == 1)).all()
    return Counter((v, *sorted(ends[e])) for v, e in found.nonzero().tolist())


def dense(matrix: CSR) -> torch.Tensor:
    return matrix.row_sum(torch.eye(matrix.num_cols))


def same(a: TriangleIncidence, b: TriangleIncidence) -> bool:
    return (
        torch.equal(a.edge_id, b.edge_id)
        and torch.equal(a.weight, b.weight)
        and all(
            torch.equal(
                left.row_sum(torch.eye(left.num_cols)), right.row_sum(torch.eye(right.num_cols))
            )
            for left, right in ((a.endpoints, b.endpoints), (a.opposite, b.opposite))
        )
    )


@pytest.mark.parametrize('kernel', ['auto', 'torch'])
def test_number_of_nodes_need_not_be_given(kernel):
    with kernels.use(kernel):
        incidence = TriangleIncidence.build(dense_graph(9))
        assert incidence.num_nodes == 9
        assert same(incidence, TriangleIncidence.build(dense_graph(9), 9))
        assert TriangleIncidence.build(torch.empty(2, 0, dtype=torch.long)).num_nodes == 0
        with pytest.raises(ValueError, match='must hold integers'):
            TriangleIncidence.build(torch.ones(2, 3))


@pytest.mark.parametrize('dtype', [torch.float32, torch.float64, torch.bfloat16])
def test_sum_with_self(dtype):
    torch.manual_seed(0)
    neighbours = TriangleIncidence.build(dense_graph(9), 9).neighbours
    src, eps = torch.randn(9, 3, dtype=dtype), torch.randn(1)
    expected = dense(neighbours) @ src.float() + (1 + eps) * src.float()
    found = neighbours.sum_with_self(src, eps)
    assert found.dtype == torch.promote_types(dtype, torch.float32)
    tolerance = 0.05 if dtype == torch.bfloat16 else 1e-6
    torch.testing.assert_close(found.float(), expected, rtol=tolerance, atol=tolerance)


def test_gradients_of_sum_with_self():
    neighbours = TriangleIncidence.build(dense_graph(6)[:, ::2], 6).neighbours  # not symmetric
    src = torch.randn(6, 2, dtype=torch.double, requires_grad=True)
    eps = torch.randn(1, dtype=torch.double, requires_grad=True)
    for inputs in ((src, eps), (src.detach(), eps), (src, eps.detach())):
        assert torch.autograd.gradcheck(neighbours.sum_with_self, inputs)
        assert torch.autograd.gradgradcheck(neighbours.sum_with_self, inputs)


@given(graphs())
def test_build_lists_every_message_once(graph):
    edge_index, num_nodes = graph
    incidence = TriangleIncidence.build(edge_index, num_nodes)
    expected = Counter(naive_messages(edge_index, num_nodes))
    assert messages(incidence) == expected
    assert incidence.num_messages == len(expected)
    per_edge = Counter(tuple(message[1:]) for message in expected)
    ends = [tuple(sorted(pair)) for pair in incidence.endpoints.col.view(-1, 2).tolist()]
    assert dict(zip(ends, incidence.weight.tolist(), strict=True)) == per_edge


@given(graphs(), st.randoms())
def test_build_from_given_triangles_in_any_order(graph, random):
    edge_index, num_nodes = graph
    triangle_index = find_triangles(edge_index, num_nodes)
    shuffled = torch.tensor(
        [random.sample(column, 3) for column in triangle_index.t().tolist()], dtype=torch.long
    )
    shuffled = shuffled.reshape(-1, 3).flip(0).t()
    expected = TriangleIncidence.build(edge_index, num_nodes)
    assert same(TriangleIncidence.build(edge_index, num_nodes, shuffled), expected)


@given(graphs())
def test_transpose_is_the_transpose(graph):
    incidence = TriangleIncidence.build(*graph)
    for matrix in (incidence.endpoints, incidence.opposite):
        transpose = CSR(matrix.rowptr_t, matrix.col_t, matrix.rowptr, matrix.col)
        assert torch.equal(dense(transpose), dense(matrix).t())


def test_row_sum_gradients():
    matrix = TriangleIncidence.build(dense_graph(), 9).opposite
    src = torch.randn(matrix.num_cols, 3, dtype=torch.double, requires_grad=True)
    assert torch.autograd.gradcheck(matrix.row_sum, src)
    assert torch.autograd.gradgradcheck(matrix.row_sum, src)


def test_edge_mean_by_hand():
    # A triangle whose edge (0, 1) comes three times, a loop, an edge off the triangle.
    edge_index = torch.tensor([[0, 1, 0, 1, 2, 2, 2], [1, 0, 1, 2, 0, 2, 3]])
    edge_attr = torch.tensor([[1.0], [2.0], [6.0], [10.0], [20.0], [99.0], [99.0]])
    incidence = TriangleIncidence.build(edge_index, 4)
    # In the order (0, 1), (0, 2), (1, 2).
    assert incidence.edge_mean(edge_attr).tolist() == [[3.0], [20.0], [10.0]]
    with pytest.raises(ValueError, match='has 2 rows, but the graph has 7 edges'):
        incidence.edge_mean(edge_attr[:2])


def test_build_from_foreign_triangles():
    edge_index = torch.tensor([[0, 1, 2, 2], [1, 2, 0, 3]])
    for foreign in ([0, 1, 3], [0, 0, 1], [0, 1, 9], [-1, 0, 1]):
        triangle_index = torch.tensor([[0, 1, 2], foreign]).t()
        with pytest.raises(ValueError, match=r'does not belong.*column 1'):
            TriangleIncidence.build(edge_index, 4, triangle_index)
    with pytest.raises(ValueError, match=r'shape \[3, T\]'):
        TriangleIncidence.build(edge_index, 4, edge_index)


def test_int64_where_int32_does_not_reach(monkeypatch):
    class TinyInfo:
        max = 5

    row, col = torch.tensor([2, 0, 0]), torch.tensor([1, 4, 3])
    small = CSR.from_pairs(row, col, 5, 5)
    assert small.col.dtype == torch.int32
    monkeypatch.setattr(torch, 'iinfo', lambda _: TinyInfo)
    assert CSR.from_pairs(row, col, 5, 5).col.dtype == torch.int32
    large = CSR.from_pairs(row, col, 6, 5)
    assert large.rowptr.dtype == large.col.dtype == torch.int64
    assert large.col.tolist() == small.col.tolist() == [3, 4, 1]


def test_to_pickle_and_repr():
    incidence = TriangleIncidence.build(dense_graph(), 9)
    assert same(pickle.loads(pickle.dumps(incidence)), incidence)
    assert incidence.to('meta').opposite.col.is_meta
    with pytest.MonkeyPatch.context() as patch:  # without a GPU, nothing can be pinned
        patch.setattr(torch.Tensor, 'pin_memory', lambda tensor: tensor.to('meta'))
        pinned = incidence.pin_memory()
    assert pinned.opposite.col.is_meta
    assert pinned.weight.is_meta
    assert str(incidence) == (
        f'TriangleIncidence(num_nodes=9, num_edges={incidence.num_edges}, '
        f'num_triangles={incidence.num_messages // 3})'
    )


def add_triangles(edge_index, num_nodes):
    return AddTriangles()(Data(edge_index=edge_index, num_nodes=num_nodes))


def test_from_data_uses_attached_triangles(monkeypatch):
    data = add_triangles(dense_graph(), 9)
    batch = Batch.from_data_list([data, add_triangles(dense_graph(7, seed=1), 7), data])
    expected = TriangleIncidence.build(batch.edge_index, 25)
    monkeypatch.delattr('graphgym_nc.triangles.build.list_triangles')
    with kernels.use('torch'):
        assert same(TriangleIncidence.from_data(batch), expected)
        assert TriangleIncidence.from_data(data).num_nodes == 9


def stale_by_subgraph(data):
    return data.subgraph(torch.arange(6))


def stale_by_edge_subgraph(data):
    return data.edge_subgraph((data.edge_index != 0).all(dim=0))


def stale_by_new_edges(data):
    new = torch.combinations(torch.arange(9)).t()
    data.edge_index = torch.cat([data.edge_index, new], dim=1)
    return data


def stale_by_swapped_nodes(data):
    perm = torch.tensor([1, 0, 2, 3, 4, 5, 6, 7, 8])
    data.edge_index = perm[data.edge_index]
    return data


@pytest.mark.parametrize(
    'change',
    [stale_by_subgraph, stale_by_edge_subgraph, stale_by_new_edges, stale_by_swapped_nodes],
)
@kernels.use('torch')  # kernels find the triangles anew
def test_from_data_finds_out_about_stale_triangles(change):
    stale = change(add_triangles(dense_graph(p=0.5), 9))
    assert not torch.equal(stale.triangle_index, find_triangles(stale.edge_index))
    expected = TriangleIncidence.build(stale.edge_index, stale.num_nodes)
    assert same(TriangleIncidence.from_data(stale), expected)
    batch = Batch.from_data_list([add_triangles(dense_graph(), 9), stale])
    expected = TriangleIncidence.build(batch.edge_index, batch.num_nodes)
    assert same(TriangleIncidence.from_data(batch), expected)


@kernels.use('torch')
def test_from_data_when_the_triangles_were_cut_like_nodes():
    # Five nodes of ten form a clique: T = N = 10, and PyG takes `triangle_index` for a node
    # attribute. The edges stay as they are, but of the triangles only half.
    clique = torch.combinations(torch.arange(5)).t()
    data = add_triangles(clique, 10)
    cut = data.subgraph(torch.arange(5))
    assert torch.equal(cut.edge_index, clique)
    assert cut.triangle_index.size(1) == 5
    assert TriangleIncidence.from_data(cut).num_messages == 30
    batch = Batch.from_data_list([data, cut])
    assert TriangleIncidence.from_data(batch).num_messages == 60


def test_repeated_triangles():
    edge_index = torch.tensor([[0, 1, 2], [1, 2, 0]])
    twice = torch.tensor([[0, 2], [1, 1], [2, 0]])
    with pytest.raises(ValueError, match='2 triangles, but only 1 different'):
        TriangleIncidence.build(edge_index, 3, twice)
    with pytest.raises(ValueError, match='must hold integers'):
        TriangleIncidence.build(edge_index, 3, twice[:, :1].float())


def test_from_data_without_edges():
    with pytest.raises(ValueError, match="no 'edge_index'"):
        TriangleIncidence.from_data(Data(x=torch.ones(2, 1)))


def test_comparison_is_that_of_objects():
    """Not of tensors, whose truth value would be asked for."""
    a, b = (TriangleIncidence.build(dense_graph(), 9) for _ in range(2))
    assert a != b
    assert a.opposite != b.opposite
    assert [b, a].index(a) == 1
    assert len({a, b}) == 2


def test_equal_edges_are_compared_once(monkeypatch):
    edge_index = dense_graph()
    incidence = TriangleIncidence.build(edge_index, 9)
    other = edge_index.clone()
    assert incidence.belongs_to(other)
    with monkeypatch.context() as patch:
        patch.delattr(torch, 'equal')
        assert incidence.belongs_to(other)
    other[:, 0] = 0
    assert not incidence.belongs_to(other)
