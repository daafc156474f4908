import pytest
import yaml

from graphgym_nc.cli.configs import main

GRID = """\
# config: nc_counting
gnn.layers_mp layers [1, 2]
gnn.dropout drop [0.0, 0.5]
"""


def test_every_configuration_of_a_grid_is_a_file(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'two.txt').write_text(GRID)
    main(['--grid', 'two.txt', '--out_dir', 'mine'])
    folder = tmp_path / 'mine' / 'nc_counting_grid_two'
    written = {path.stem: yaml.safe_load(path.read_text()) for path in folder.glob('*.yaml')}
    assert {name: (c['gnn']['layers_mp'], c['gnn']['dropout']) for name, c in written.items()} == {
        f'nc_counting-layers={layers}-drop={drop}': (layers, drop)
        for layers in (1, 2)
        for drop in (0.0, 0.5)
    }
    assert {config['out_dir'] for config in written.values()} == {'results/nc_counting_grid_two'}
    assert capsys.readouterr().out == "4 configuration(s) in 'mine/nc_counting_grid_two'\n"


def test_a_grid_that_is_wrong_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'bad.txt').write_text(GRID.replace('0.5]', '"much"]'))
    with pytest.raises(SystemExit, match=r"bad.txt:3: 'gnn.dropout' is 'much'"):
        main(['--grid', 'bad.txt'])
    assert not (tmp_path / 'configs').exists()


@pytest.mark.parametrize('number', ['0', '-1'])
def test_a_sample_of_none(tmp_path, capsys, number):
    (tmp_path / 'two.txt').write_text(GRID)
    with pytest.raises(SystemExit):
        main(['--grid', str(tmp_path / 'two.txt'), '--sample', number])
    assert f'--sample is {number}, but must be at least 1' in capsys.readouterr().err
