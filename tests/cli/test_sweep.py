from pathlib import Path

import pytest

from graphgym_nc.cli.sweep import main
from graphgym_nc.results.record import run_status
from graphgym_nc.utils.packaged import packaged

FAKE = Path(__file__).parents[1] / 'sweeps' / 'fake_main.py'


@pytest.fixture(autouse=True)
def empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_a_packaged_grid_finds_its_packaged_config(capsys):
    assert main(['smoke', '--dry-run']) == 0
    assert '4 configuration(s) x 1 seed(s) = 4 job(s)' in capsys.readouterr().out


@pytest.mark.parametrize('base', ['configs/nc_counting.yaml', 'nc_counting'])
def test_a_grid_of_ones_own_names_a_packaged_config(capsys, base):
    Path('mine.txt').write_text(f'# config: {base}\ngnn.layers_mp l [1, 2]\n')
    assert main(['mine.txt', '--dry-run']) == 0
    assert 'nc_counting-l=1/0' in capsys.readouterr().out


def test_a_grid_whose_config_is_nowhere(capsys):
    Path('mine.txt').write_text('# config: nowhere\ngnn.layers_mp l [1, 2]\n')
    assert main(['mine.txt', '--dry-run']) == 2
    assert "there is no file 'nowhere'" in capsys.readouterr().err


def test_jobs_of_a_script_of_ones_own():
    config = str(packaged('configs', 'nc_counting'))
    Path('mine.txt').write_text('gnn.layers_mp l [1]\n')
    assert main(['mine.txt', '--config', config, '--script', str(FAKE)]) == 0
    run_dir = Path('results/nc_counting_grid_mine/nc_counting-l=1/0')
    assert (run_dir / 'starts').exists()  # only this script writes it
    assert run_status(run_dir) == 'DONE'


def test_list(capsys):
    with pytest.raises(SystemExit):
        main(['--list'])
    assert 'smoke' in capsys.readouterr().out.split()
