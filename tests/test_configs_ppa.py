"""The configurations of ogbg-ppa, on small graphs of its form."""

import sys
from pathlib import Path

import pytest
import yaml

from graphgym_nc.datasets.ppa_like import draw_ppa_like, save_ppa_like
from graphgym_nc.results.aggregate import read_stats
from graphgym_nc.results.differences import differing
from graphgym_nc.training.run import main

CONFIGS = Path(__file__).parents[1] / 'configs'
BUDGET = 1_836_942  # OGB's GIN, as published


@pytest.fixture
def datasets(tmp_path):
    save_ppa_like(tmp_path / 'ogbg_ppa', draw_ppa_like(80, num_nodes=10, num_edges=25))
    return tmp_path


def test_parameters(cfg, datasets, capsys):
    numbers = {}
    for model in ('gin', 'nc'):
        main(
            ['--cfg', str(CONFIGS / f'{model}_ppa.yaml'), '--check', 'dataset.dir', str(datasets)]
        )
        report = capsys.readouterr().out
        assert '32 x 37' in report
        (line,) = (line for line in report.splitlines() if line.startswith('parameters'))
        numbers[model] = int(line.split()[1].replace(',', ''))
    assert numbers['gin'] == BUDGET
    assert 0.99 * BUDGET < numbers['nc'] <= BUDGET


def test_twins_differ_in_layer_and_width_alone():
    gin, nc = (yaml.safe_load((CONFIGS / f'{m}_ppa.yaml').read_text()) for m in ('gin', 'nc'))
    assert differing(gin, nc).keys() == {'gnn.layer_type', 'gnn.dim_inner'}


def test_training(cfg, datasets, tmp_path):
    opts = ['dataset.dir', datasets, 'out_dir', tmp_path / 'results', 'optim.max_epoch', 2,
            'gnn.dim_inner', 8, 'accelerator', 'cpu', 'num_threads', 1]  # fmt: skip
    main(['--cfg', str(CONFIGS / 'nc_ppa.yaml'), *map(str, opts)])
    rows = read_stats(tmp_path / 'results' / 'nc_ppa' / '0' / 'test' / 'stats.json')
    assert [row['epoch'] for row in rows] == [0, 1]
    assert all(0 <= row['accuracy_ogb'] <= 1 for row in rows)


def test_offline(cfg, tmp_path, monkeypatch):
    def ask(*_):
        raise AssertionError('nobody is there to answer')

    monkeypatch.setattr('builtins.input', ask)
    monkeypatch.setattr(sys, 'argv', ['main.py'])
    args = ['--cfg', str(CONFIGS / 'nc_ppa.yaml'), '--check']
    with pytest.raises(SystemExit, match=r'ogbg-ppa is not in .*ogbg_ppa.*unpack it') as error:
        main([*args, 'dataset.dir', str(tmp_path), 'nc.download_timeout', '0.001'])
    assert error.value.code != 0
