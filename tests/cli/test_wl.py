import subprocess
import sys

import networkx as nx
import pytest

from graphgym_nc.cli.wl import main


@pytest.fixture
def write(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(name, *graphs):
        lines = [nx.to_graph6_bytes(graph, header=False).decode() for graph in graphs]
        (tmp_path / name).write_text(''.join(lines))
        return name

    return write


def twice(graph):
    return nx.disjoint_union(graph, graph)


def test_classes(write, capsys):
    hexagon, triangles = nx.cycle_graph(6), twice(nx.cycle_graph(3))
    path = write('graphs.g6', hexagon, nx.path_graph(6), triangles, hexagon)
    assert main([path, '--algorithm', '1-wl']) == 0
    assert capsys.readouterr().out.splitlines() == [
        '4 graphs, 2 classes under 1-wl',
        'class 0: line 1; line 3; line 4',
        'class 1: line 2',
        '3 undistinguished pairs',
        'line 1 and line 3',
        'line 1 and line 4',
        'line 3 and line 4',
    ]
    assert main([path]) == 0
    assert capsys.readouterr().out.splitlines() == [
        '4 graphs, 3 classes under nc-1-wl',
        'class 0: line 1; line 4',
        'class 1: line 2',
        'class 2: line 3',
        '1 undistinguished pairs',
        'line 1 and line 4',
    ]


def test_many_pairs_are_cut_short(write, capsys):
    assert main([write('graphs.g6', *[nx.empty_graph(2)] * 50)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[2] == '1225 undistinguished pairs'
    assert len(lines) == 3 + 1000 + 1
    assert lines[-1] == '... and 225 more'


@pytest.mark.parametrize(
    ('algorithm', 'verdict'),
    [
        ('1-wl', '1-wl does not distinguish the graphs'),
        ('nc-1-wl', 'nc-1-wl distinguishes the graphs, after iteration 1'),
        ('3-wl', '3-wl distinguishes the graphs, by their initial colours'),
    ],
)
def test_verdict_of_two_lines_or_two_files(write, capsys, algorithm, verdict):
    graphs = twice(nx.cycle_graph(3)), nx.cycle_graph(6)
    both = write('both.g6', *graphs)
    each = [write(f'{i}.g6', graph) for i, graph in enumerate(graphs)]
    for files in ([both], each):
        assert main([*files, '--algorithm', algorithm]) == 0
        assert capsys.readouterr().out == f'{verdict}\n'


def test_trace(write, capsys):
    path = write('graphs.g6', nx.star_graph(3), nx.path_graph(4))
    assert main([path, '--trace']) == 0
    assert capsys.readouterr().out.splitlines() == [
        'iteration 0',
        '  line 1   0: [0, 1, 2, 3]',
        '  line 2   0: [0, 1, 2, 3]',
        'iteration 1',
        '  line 1   0: [1, 2, 3]  2: [0]',
        '  line 2   0: [0, 3]  1: [1, 2]',
        'iteration 2',
        '  line 1   1: [1, 2, 3]  3: [0]',
        '  line 2   0: [0, 3]  2: [1, 2]',
        'nc-1-wl distinguishes the graphs, after iteration 1',
    ]


def test_trace_of_triples(write, capsys):
    path = write('graphs.g6', nx.complete_graph(2), nx.empty_graph(2))
    assert main([path, '--trace', '--algorithm', '3-wl']) == 0
    lines = capsys.readouterr().out.splitlines()
    # Of 8 triples, 2 are (v, v, v), as in the other graph; the others are of
    # 3 kinds, 2 of each, by which one of the nodes is not like the other two.
    kinds = [line.split(maxsplit=2)[2].replace(' triples', '').split('  ') for line in lines[1:3]]
    first, second = ({tuple(kind.split(': ')) for kind in part} for part in kinds)
    assert first & second == {('0', '2')}
    assert (
        sorted(number for _, number in first)
        == sorted(number for _, number in second)
        == ['2'] * 4
    )


def test_plot(write, tmp_path):
    path = write('graphs.g6', nx.star_graph(3), nx.path_graph(4))
    assert main([path, '--plot', 'pair.png']) == 0
    assert (tmp_path / 'pair.png').read_bytes().startswith(b'\x89PNG')


@pytest.mark.parametrize(
    ('content', 'arguments', 'message'),
    [
        (
            'Bw\n\nB\n',
            [],
            'graphs.g6, line 3: Expected 3 bits but got 0 in graph6',
        ),
        ('Bw\nB!\n', [], "graphs.g6, line 2: byte b'!' at position 2 is not allowed in graph6"),
        ('&C_\n', [], 'graphs.g6, line 1: this is digraph6, not graph6'),
        ('\n', [], 'graphs.g6 holds no graph'),
        ('Bw\n', ['missing.g6'], 'missing.g6: No such file or directory'),
        ('Bw\n', ['.'], '.: Is a directory'),
        ('Bw\n', ['--trace'], "'--trace' and '--plot' are for two graphs (got 1)"),
        ('Bw\nBw\n', ['--plot', 'pair.txt'], "Format 'txt' is not supported"),
        (
            2 * nx.to_graph6_bytes(nx.path_graph(1000), header=False).decode(),
            ['--algorithm', '3-wl'],
            '3-WL colours all triples of nodes: a graph of 1000 nodes would take about',
        ),
    ],
)
def test_bad_input(tmp_path, monkeypatch, capsys, content, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'graphs.g6').write_text(content)
    assert main(['graphs.g6', *arguments]) == 2
    error = capsys.readouterr().err
    assert error.startswith('error: ')
    assert message in error


def test_unknown_algorithm(capsys):
    with pytest.raises(SystemExit, match='2'):
        main(['graphs.g6', '--algorithm', '2-wl'])
    assert "invalid choice: '2-wl'" in capsys.readouterr().err


def test_a_reader_may_leave_early(write):
    path = write('graphs.g6', *[nx.path_graph(n) for n in range(3, 13)] * 300)
    run = 'import sys; from graphgym_nc.cli.wl import main; sys.exit(main())'
    command = [sys.executable, '-c', run, path]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.readline() == b'3000 graphs, 10 classes under nc-1-wl\n'
        process.stdout.close()
        assert b'Traceback' not in process.stderr.read()
        assert process.wait() == 0
