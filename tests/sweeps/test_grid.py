from pathlib import Path

import pytest

from graphgym_nc.results.names import value_name
from graphgym_nc.sweeps.errors import GridError
from graphgym_nc.sweeps.grid import Grid

GRIDS = Path(__file__).parents[2] / 'grids'


def read(tmp_path, text):
    path = tmp_path / 'grid.txt'
    path.write_text(text)
    return Grid.load(path)


def test_blocks_comments_and_spaces(tmp_path):
    grid = read(
        tmp_path,
        '# a remark\n'
        'gnn.act  act ["relu", "elu"]  # GraphGym would pass over this line\n'
        '# between rows: no new block\n'
        'gnn.layers_mp\tl [2,   4]\n'
        '\n \n'
        'optim.steps steps [[10, 20], []]\n',
    )
    assert grid.bases == []
    first, second = (
        [(row.line, row.key, row.alias, row.choices) for row in b] for b in grid.blocks
    )
    assert first == [
        (2, 'gnn.act', 'act', ['relu', 'elu']),
        (4, 'gnn.layers_mp', 'l', [2, 4]),
    ]
    assert second == [(7, 'optim.steps', 'steps', [[10, 20], []])]


def test_base_config_in_a_path_with_spaces(tmp_path):
    config = tmp_path / 'my configs' / 'base.yaml'
    config.parent.mkdir()
    config.touch()
    grid = tmp_path / 'grid.txt'
    grid.write_text(f'# config: {config}\ngnn.layers_mp mp [1]\n')
    assert Grid.load(grid).bases == [config]


def test_base_config_is_found_from_anywhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (base,) = Grid.load(GRIDS / 'nc.txt').bases
    assert base == GRIDS.parent / 'configs' / 'nc_cluster.yaml'
    (tmp_path / 'configs').mkdir()
    (tmp_path / 'configs' / 'nc_cluster.yaml').touch()
    assert Grid.load(GRIDS / 'nc.txt').bases == [Path('configs/nc_cluster.yaml')]


@pytest.mark.parametrize(
    ('row', 'message'),
    [
        ('gnn.act act', 'not of the form: key alias'),
        ('gnn.act act [relu]', 'not a list of Python values'),
        ('gnn.act act [1, 2', 'not a list of Python values'),
        ("gnn.act act __import__('os').system('false')", 'not a list of Python values'),
        ('gnn.act act [().__class__]', 'not a list of Python values'),
        # GraphGym would try every letter.
        ("gnn.act act 'relu'", "not a list; for a single value, write \\['relu'\\]"),
        ('gnn.act act []', "no value for 'gnn.act', and so no configuration"),
        ('gnn.act act [1, 1]', 'the value 1 twice'),
        ('gnn.act a-b [1]', "the alias 'a-b' may hold"),
        ('gnn.act ../a [1]', 'may hold letters'),
        ('gnn.layers_mp act [1]', 'also that of line 1'),
        ('gnn.dropout d [0.1]', "'gnn.dropout' is also on line 1"),
    ],
)
def test_errors_name_file_and_line(tmp_path, row, message):
    first = 'gnn.dropout act [0.0]' if 'line 1' in message else 'gnn.dropout drop [0.0]'
    with pytest.raises(GridError, match=f'grid.txt:3: .*{message}'):
        read(tmp_path, f'{first}\n# remark\n{row}\n')


def test_all_errors_at_once(tmp_path):
    with pytest.raises(GridError, match=r'grid.txt:1: (.|\n)*grid.txt:2: '):
        read(tmp_path, 'gnn.act act\ngnn.act act []\n')


def test_nothing_in_it(tmp_path):
    with pytest.raises(GridError, match='there is no row in it'):
        read(tmp_path, '# nothing\n\n')


@pytest.mark.parametrize(
    ('value', 'name'),
    [
        (0.5, '0.5'),
        (1e-05, '1e-05'),
        ([50, 100], '50,100'),
        (['a'], 'a'),
        ('a/b $(c); `d`', 'a_b__c___d_'),
    ],
)
def test_value_name(value, name):
    assert value_name(value) == name


def test_several_base_configurations_need_no_row(tmp_path):
    grid = read(tmp_path, '# config: a.yaml\n# config: b.yaml\n')
    assert grid.bases == [Path('a.yaml'), Path('b.yaml')]
    assert grid.blocks == [[]]
