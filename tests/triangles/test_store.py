import hypothesis.strategies as st
import pytest
import torch
from hypothesis import given
from torch_geometric.data import Batch, Data

from graphgym_nc import TriangleIncidence, kernels
from graphgym_nc.triangles.store import TriangleStore
from tests.incidences import assert_same
from tests.reference import dense_graph, graphs, graphs_with_twins


def make_store(data_list: list[Data], max_bytes: int = 1 << 30) -> TriangleStore | None:
    columns = torch.tensor([0, *[data.num_edges for data in data_list]]).cumsum(0)
    nodes = torch.tensor([0, *[data.num_nodes for data in data_list]]).cumsum(0)
    edge_index = torch.cat([data.edge_index for data in data_list], dim=1)
    return TriangleStore.build(edge_index, columns, nodes, max_bytes)


def graph(edge_index, num_nodes):
    return Data(edge_index=edge_index, num_nodes=num_nodes)


@given(st.lists(graphs(), min_size=1, max_size=5), st.data())
def test_a_batch_is_what_it_would_be_if_built(drawn, data):
    data_list = [graph(*each) for each in drawn]
    store = make_store(data_list)
    chosen = data.draw(st.lists(st.integers(0, len(drawn) - 1), min_size=1, max_size=6))
    batch = Batch.from_data_list([data_list[i] for i in chosen])
    found = store.batch(chosen, batch.edge_index, batch.num_nodes)
    assert found.is_of(batch.edge_index)
    if store.incidence.twins is None:
        with kernels.use('torch'):
            assert_same(found, TriangleIncidence.build(batch.edge_index, batch.num_nodes))


@given(st.lists(graphs_with_twins(), min_size=1, max_size=4), st.data())
def test_with_twins_of_all_kinds(drawn, data):
    data_list = [graph(*each) for each in drawn]
    chosen = data.draw(st.lists(st.integers(0, len(drawn) - 1), min_size=1, max_size=5))
    batch = Batch.from_data_list([data_list[i] for i in chosen])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr('graphgym_nc.triangles.build.twins_pay', lambda *_: True)
        store = make_store(data_list)
    found = store.batch(chosen, batch.edge_index, batch.num_nodes)
    assert found.twins is not None
    with kernels.use('torch'):
        assert_same(found, TriangleIncidence.build(batch.edge_index, batch.num_nodes))


def test_with_twins():
    cliques = [torch.combinations(torch.arange(n)).t() for n in (5, 10, 9)]
    data_list = [graph(edge_index, 10) for edge_index in cliques]
    store = make_store(data_list)
    batch = Batch.from_data_list([data_list[i] for i in (2, 0, 2)])
    found = store.batch([2, 0, 2], batch.edge_index, 30)
    assert found.twins is not None
    assert_same(found, TriangleIncidence.build(batch.edge_index, 30))


def test_other_edges_than_those_of_the_store():
    data_list = [graph(dense_graph(8, seed=i), 8) for i in range(3)]
    store = make_store(data_list)
    other = Batch.from_data_list([data_list[0], graph(dense_graph(8, seed=9), 8)])
    assert_same(
        store.batch([0, 1], other.edge_index, 16), TriangleIncidence.build(other.edge_index, 16)
    )


def test_more_nodes_than_those_of_the_store():
    data_list = [graph(dense_graph(8, seed=i), 8) for i in range(2)]
    edge_index = Batch.from_data_list(data_list).edge_index
    assert make_store(data_list).batch([0, 1], edge_index, 17).num_nodes == 17


def test_no_more_than_allowed():
    data_list = [graph(dense_graph(30, seed=i), 30) for i in range(20)]
    store = make_store(data_list)
    tensors = [
        getattr(matrix, name)
        for matrix in (store.incidence.opposite, store.incidence.neighbours)
        for name in ('rowptr', 'col', 'rowptr_t', 'col_t')
    ]
    size = sum(tensor.nbytes for tensor in tensors)
    assert make_store(data_list, max_bytes=size // 2) is None
    with kernels.use('torch'):
        assert make_store(data_list) is None


@pytest.mark.parametrize('monkey', [1, 5, 1000])
def test_counted_in_parts(monkeypatch, monkey):
    monkeypatch.setattr('graphgym_nc.triangles.store._COLUMNS_AT_ONCE', monkey)
    data_list = [graph(dense_graph(6, seed=i), 6) for i in range(7)]
    data_list.insert(2, graph(torch.empty(2, 0, dtype=torch.long), 3))
    assert make_store(data_list, 100_000) is not None
    assert make_store(data_list, 2_000) is None
