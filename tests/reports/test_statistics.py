import subprocess
import sys

import networkx as nx
import pytest
from torch_geometric.utils import from_networkx

from graphgym_nc.reports.paper.published import STATISTICS, Statistics
from graphgym_nc.reports.statistics import (
    Measured,
    disagreements,
    frame,
    is_on_disk,
    load,
    measure,
    num_messages,
    table,
)


def edges_among_neighbours(graph):
    """The definition, word for word."""
    return sum(graph.subgraph(graph.neighbors(v)).number_of_edges() for v in graph)


@pytest.mark.parametrize('graph', [nx.karate_club_graph(), nx.complete_graph(5), nx.path_graph(4)])
def test_messages_by_definition(graph):
    data = from_networkx(nx.Graph(graph.edges))
    assert num_messages(data) == edges_among_neighbours(graph)


@pytest.mark.parametrize(
    ('name', 'messages'),
    [
        ('MUTAG', 0.0),
        ('PTC_MR', 0.005),
        ('PROTEINS', 2.105),
        ('IMDB-BINARY', 59.47),
        ('IMDB-MULTI', 70.59),
    ],
)
def test_real_data_agree_with_the_paper(shared_data, tmp_path, name, messages):
    raw = tmp_path / name / 'raw'
    subprocess.run([sys.executable, shared_data / 'unpack.py', 'tu', name, raw], check=True)
    assert is_on_disk(tmp_path, name)
    measured = measure(load(tmp_path, name), name)
    assert measured.messages == pytest.approx(messages, abs=0.0051)
    assert disagreements(measured, STATISTICS[name]) == []
    assert table({name: measured})['agrees'].tolist() == ['yes']


def test_the_paper_counts_too_many_messages_of_cluster(tmp_path):
    measured = measure(load(tmp_path, 'CLUSTER', [60, 20, 20]), 'CLUSTER')
    assert 180 < measured.messages < 270  # the paper prints 1301.5
    assert set(disagreements(measured, STATISTICS['CLUSTER'])) >= {'graphs', 'messages'}
    (text,) = table({'CLUSTER': measured})['agrees']
    assert text.endswith('six times what its own definition gives')
    assert frame({'CLUSTER': measured})['messages'].tolist() == [measured.messages]


def test_what_agrees():
    published = Statistics(10, 19.7, 96.5, 59.5, undirected=True)
    assert disagreements(Measured(10, 19.77, 193.06, 59.47, ''), published) == []  # cut off
    assert disagreements(Measured(9, 19.9, 193.06, 60.1, ''), published) == [
        'graphs', 'nodes', 'messages',
    ]  # fmt: skip
    assert disagreements(Measured(10, 20.0, 193.06, 59.5, 'generated'), published) == []
    none = Statistics(None, None, None, 0.0)
    assert disagreements(Measured(1, 2, 3, 0.01, ''), none) == ['messages']


def test_absent_data(tmp_path):
    assert not is_on_disk(tmp_path, 'MUTAG')
    with pytest.raises(FileNotFoundError, match=r'there is no .*MUTAG_A.txt'):
        load(tmp_path, 'MUTAG')
    with pytest.raises(ValueError, match="'MUTANG' is none of COLLAB"):
        load(tmp_path, 'MUTANG')
