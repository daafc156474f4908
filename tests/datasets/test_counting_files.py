import networkx as nx
import numpy as np
import pytest
import torch
from torch_geometric.utils import to_networkx

from graphgym_nc.datasets import CountingFile, TriangleCounting, load_counting
from tests.counting_file import write_counting


@pytest.fixture
def graphs():
    return [nx.gnp_random_graph(5 + i, 0.6, seed=i) for i in range(8)]


def test_counting_file(graphs, tmp_path):
    write_counting(tmp_path, 'regular', graphs)
    dataset = load_counting(tmp_path, 'regular')
    assert str(dataset) == 'CountingFile(8)'
    assert dataset.source == 'the graphs of regular.npz'
    assert [index.tolist() for index in dataset.split_idxs] == [[7, 6, 5], [4, 3], [2, 1, 0]]
    counts = torch.tensor([sum(nx.triangles(graph).values()) / 3 for graph in graphs])
    torch.testing.assert_close(dataset.y, counts / counts.std())
    for data, graph in zip(dataset, graphs, strict=True):
        assert data.validate()
        assert data.x.eq(1).all()
        ours = to_networkx(data, to_undirected=True)
        assert (set(ours.nodes), set(ours.edges)) == (set(graph.nodes), set(graph.edges))


def test_another_target(graphs, tmp_path):
    write_counting(tmp_path, 'erdos_renyi', graphs)
    stars = torch.tensor([sum(d * (d - 1) * (d - 2) / 6 for _, d in g.degree) for g in graphs])
    dataset = load_counting(tmp_path, 'erdos_renyi', 'star')
    torch.testing.assert_close(dataset.y, stars / stars.std())
    drawn = load_counting(tmp_path, 'generated', 'star', num_graphs=40)
    triangles = load_counting(tmp_path, 'generated', num_graphs=40)
    assert torch.equal(drawn._data.edge_index, triangles._data.edge_index)
    assert not torch.equal(drawn.y, triangles.y)


def test_which_graphs(graphs, tmp_path, caplog):
    """Those of the file if it is there, unless another number is wanted."""
    assert isinstance(load_counting(tmp_path, num_graphs=5000, first=5), TriangleCounting)
    assert 'generated, seed 0; to count: triangle' in caplog.text
    write_counting(tmp_path, 'regular', graphs)
    assert isinstance(load_counting(tmp_path), CountingFile)
    assert 'the graphs of regular.npz; to count: triangle' in caplog.text
    assert isinstance(load_counting(tmp_path, num_graphs=40), TriangleCounting)
    assert isinstance(load_counting(tmp_path, 'generated', first=5), TriangleCounting)
    with pytest.raises(FileNotFoundError, match=r'erdos_renyi.npz.*graph6.*counting_source: gen'):
        load_counting(tmp_path, 'erdos_renyi')


def test_published_split(shared_data):
    regular, erdos_renyi = (
        CountingFile(shared_data / 'counting' / f'{name}.npz')
        for name in ('regular', 'erdos_renyi')
    )
    for dataset in (regular, erdos_renyi):
        assert [len(index) for index in dataset.split_idxs] == [1500, 1000, 2500]
        assert torch.cat(dataset.split_idxs).sort().values.tolist() == list(range(5000))
    assert {data.num_nodes for data in regular} == {10, 15, 20, 30}
    assert {data.num_nodes for data in erdos_renyi} == {10}
    assert np.isclose(float(regular.y.std()), 1)
