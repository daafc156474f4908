from pathlib import Path

import pytest

from graphgym_nc.benchmark.plot import plot_ratios, plot_scaling, plot_shares
from graphgym_nc.benchmark.step import PARTS, measure_run

CONFIGS = Path(__file__).parents[2] / 'configs'


@pytest.mark.parametrize('model', ['gin', 'nc'])
def test_shares_of_a_run(cfg, tmp_path, model):
    options = ['nc.counting_graphs', '40', 'optim.max_epoch', '1', 'accelerator', 'cpu', 'print',
               'file', 'dataset.dir', str(tmp_path)]  # fmt: skip
    row = measure_run(CONFIGS / f'{model}_counting.yaml', options)
    assert row['run'] == f'{model}_counting'
    assert all(row[part] >= 0 for part in PARTS)
    assert sum(row[part] for part in PARTS) == pytest.approx(100)
    assert (row['listing'] > 0) == (model == 'nc')


def test_plots(tmp_path):
    ratios = [
        {'workload': 'a', 'graphs': 'x', 'messages': 3, 'GINConv ms': 1.0, 'NC-GNN': 2.0},
        {'workload': 'b', 'graphs': 'x', 'messages': 3, 'GINConv ms': 1.0, 'NC-GNN': 3.0,
         'every message': 200.0},
    ]  # fmt: skip
    plot_ratios(ratios, 'time', tmp_path / 'ratios.png')
    scaling = [{'messages': 10, 'NC-GNN, ms': 1.0, 'NC-GNN, MB': 2.0}]
    plot_scaling(scaling, tmp_path / 'scaling.png')
    plot_shares([{'run': 'a', **dict.fromkeys(PARTS, 20.0)}], PARTS, tmp_path / 'shares.png')
    assert len(list(tmp_path.glob('*.png'))) == 3
