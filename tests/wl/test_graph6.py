import networkx as nx
import pytest

from graphgym_nc.wl import read_graph6
from graphgym_nc.wl.graph6 import decode_graph6, graph6_lines


def decoded(line):
    graph = decode_graph6(line)
    return sorted(graph.edges), len(graph)


@pytest.mark.parametrize('num_nodes', [0, 1, 62, 63, 100])
def test_decode_every_form_of_the_size(num_nodes):
    graph = nx.path_graph(num_nodes)
    for header in (True, False):
        edges, size = decoded(nx.to_graph6_bytes(graph, header=header).decode())
        assert size == num_nodes
        assert edges == list(graph.edges)


def test_decode_by_hand():
    # From the definition of the format: 5 nodes, edges 02, 04, 13, 34.
    assert decoded('DQc') == ([(0, 2), (0, 4), (1, 3), (3, 4)], 5)


@pytest.mark.parametrize(
    ('line', 'message'),
    [
        ('', 'ends within the number of nodes'),
        ('E?b', 'Expected 15 bits but got 12'),
        ('E?bww', 'Expected 15 bits but got 24'),
        ('E?b!', "b'!' at position 4"),
        ('E?bé', 'position 4'),
        ('~', 'ends within the number of nodes'),
        ('~~???', 'ends within the number of nodes'),
        ('&C_', 'digraph6'),
        (':Fa@x^', 'sparse6'),
    ],
)
def test_malformed_strings(line, message):
    with pytest.raises(ValueError, match=message):
        decode_graph6(line)


def test_read_skips_empty_lines_and_keeps_their_count(tmp_path):
    path = tmp_path / 'graphs.g6'
    path.write_bytes(b'>>graph6<<DQc\r\n\nBw\n')
    assert read_graph6(path) == ['DQc', 'Bw']
    assert list(graph6_lines(path)) == [(1, 'DQc'), (3, 'Bw')]


def test_read_names_file_and_line(tmp_path):
    path = tmp_path / 'graphs.g6'
    path.write_text('Bw\n\nB!\n')
    with pytest.raises(ValueError, match=r"graphs\.g6, line 3: byte b'!'"):
        read_graph6(path)
