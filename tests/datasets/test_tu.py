import io
import logging
import subprocess
import sys
import zipfile

import networkx as nx
import pytest
import torch
from torch_geometric.datasets import TUDataset
from torch_geometric.utils import to_networkx

from graphgym_nc import find_triangles
from graphgym_nc.datasets import load_tu
from tests.tu_files import write_tu

GRAPHS = [nx.star_graph(4), nx.empty_graph(2), nx.cycle_graph(3), nx.complete_graph(4)]
LABELS = [1, -1, -1, 1]


def loops(graph):
    graph = graph.copy()
    graph.add_edge(0, 0)
    return graph


def test_labels_of_nodes(tmp_path):
    write_tu(tmp_path, 'MUTAG', [*GRAPHS, loops(GRAPHS[2])], [*LABELS, 1], node_labels=3)
    for _ in range(2):  # from raw files, then processed
        dataset = load_tu(tmp_path, 'MUTAG')
        assert str(dataset) == 'MUTAG(5)'
        assert dataset.source == 'TUDatasets, one-hot labels'
        assert dataset.y.tolist() == [1, 0, 0, 1, 1]
        assert torch.equal(dataset[0].x, torch.eye(3)[[0, 1, 2, 0, 1]])
        assert nx.is_isomorphic(to_networkx(dataset[0], to_undirected=True), GRAPHS[0])
        assert not dataset[4].has_self_loops()


def test_degrees_where_there_are_no_labels(tmp_path):
    write_tu(tmp_path, 'COLLAB', GRAPHS, LABELS)
    dataset = load_tu(tmp_path, 'COLLAB')
    assert dataset.source == 'TUDatasets, OneHotDegree(4)'
    expected = [[4, 1, 1, 1, 1], [0, 0], [2, 2, 2], [3, 3, 3, 3]]
    for data, degrees in zip(dataset, expected, strict=True):
        assert torch.equal(data.x, torch.eye(5)[degrees])
    # Made at every access, never kept.
    assert dataset._data.x is None


def test_damaged_cache_is_read_again(tmp_path, caplog):
    write_tu(tmp_path, 'MUTAG', GRAPHS, LABELS, node_labels=2)
    path = tmp_path / 'MUTAG' / 'processed' / 'data.pt'
    before = load_tu(tmp_path, 'MUTAG')
    path.write_bytes(path.read_bytes()[:100])
    with caplog.at_level(logging.WARNING):
        after = load_tu(tmp_path, 'MUTAG')
    assert 'is damaged' in caplog.text
    assert torch.equal(before.edge_index, after.edge_index)


def test_offline_without_files(tmp_path, monkeypatch):
    # An address of this machine that nobody listens on.
    monkeypatch.setattr(TUDataset, 'url', 'http://127.0.0.1:9')
    with pytest.raises(FileNotFoundError, match=r"PTC_MR_A.txt', .*into '.*PTC_MR/raw'"):
        load_tu(tmp_path, 'PTC_MR', timeout=1.0)


def test_archive_is_unpacked(tmp_path, monkeypatch):
    raw = write_tu(tmp_path / 'server', 'MUTAG', GRAPHS, LABELS, node_labels=2)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, 'w') as archive:
        for path in raw.iterdir():
            archive.write(path, f'MUTAG/{path.name}')
    (tmp_path / 'server' / 'MUTAG.zip').write_bytes(buffer.getvalue())
    monkeypatch.setattr(TUDataset, 'url', (tmp_path / 'server').as_uri())
    assert len(load_tu(tmp_path / 'client', 'MUTAG')) == 4
    raw = tmp_path / 'client' / 'MUTAG' / 'raw'
    assert (raw / 'MUTAG_A.txt').is_file()
    assert {path.name for path in raw.parent.iterdir()} <= {'raw', 'processed', '.lock'}


@pytest.mark.parametrize(
    ('name', 'graphs', 'messages'),
    # Graphs and `#Message_NC` as published.
    [
        ('MUTAG', 188, 0.0),
        ('PTC_MR', 344, 0.005),
        ('PROTEINS', 1113, 2.1),
        ('IMDB-MULTI', 1500, 70.6),
    ],
)
def test_published_statistics(shared_data, tmp_path, name, graphs, messages):
    command = [sys.executable, shared_data / 'unpack.py', 'tu', name, tmp_path / name / 'raw']
    subprocess.run(command, check=True)
    dataset = load_tu(tmp_path, name)
    assert len(dataset) == graphs
    triangles = sum(find_triangles(d.edge_index, d.num_nodes).size(1) for d in dataset)
    nodes = sum(data.num_nodes for data in dataset)
    assert 3 * triangles / nodes == pytest.approx(messages, rel=0.005, abs=0.0005)
