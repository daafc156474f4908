import numpy as np
import pytest
import torch

from graphgym_nc import find_triangles
from graphgym_nc.datasets.ppa_like import draw_ppa_like, save_ppa_like


def test_sizes_are_those_of_ppa():
    graphs = draw_ppa_like(40)
    nodes = np.array(graphs.num_nodes)
    edges = np.array([e.shape[1] for e in graphs.edges])
    assert nodes.mean() == pytest.approx(243.4, rel=0.15)
    assert edges.mean() == pytest.approx(2266.1, rel=0.15)
    triangles = sum(
        find_triangles(torch.from_numpy(e), n).size(1)
        for e, n in zip(graphs.edges, graphs.num_nodes, strict=True)
    )
    assert 3 * triangles / nodes.sum() == pytest.approx(179.3, rel=0.2)  # as published
    assert graphs.labels.shape == (40, 1)
    assert all(len(f) == e.shape[1] for f, e in zip(graphs.features, graphs.edges, strict=True))
    for edges in graphs.edges:
        assert (edges[0] < edges[1]).all()
        assert len(np.unique(edges, axis=1).T) == edges.shape[1]


def test_all_classes_and_graphs_are_in_use():
    graphs = draw_ppa_like(80, num_nodes=6, num_edges=8)
    assert set(graphs.labels.ravel()) == set(range(37))
    assert sorted(np.concatenate(list(graphs.split.values()))) == list(range(80))


def test_nothing_is_overwritten(tmp_path):
    graphs = draw_ppa_like(4, num_nodes=6, num_edges=8)
    save_ppa_like(tmp_path / 'ogbg_ppa', graphs)
    with pytest.raises(FileExistsError, match='something in'):
        save_ppa_like(tmp_path / 'ogbg_ppa', graphs)
