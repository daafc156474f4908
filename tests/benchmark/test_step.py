import math
from pathlib import Path

import pytest

from graphgym_nc.benchmark.accuracy import Curve, measure_accuracy
from graphgym_nc.benchmark.plot import plot_accuracy, plot_ratios, plot_scaling, plot_shares
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


def test_accuracy_of_a_run(cfg, tmp_path):
    options = ['nc.sbm_graphs', '[12,6,6]', 'optim.max_epoch', '2', 'accelerator', 'cpu', 'print',
               'file', 'dataset.dir', str(tmp_path)]  # fmt: skip
    curve = measure_accuracy(CONFIGS / 'nc_cluster_4l_100k_lean.yaml', options)
    assert curve.run == 'nc_cluster_4l_100k_lean'
    assert 0 < curve.seconds[0] < curve.seconds[1]
    assert len(curve.accuracy) == 2
    assert all(0 < value < 100 for value in curve.accuracy)


def test_time_to_an_accuracy(tmp_path):
    curve = Curve('a', [2.0, 4.0, 6.0], [30.0, 58.0, 57.0])
    assert curve.row(58) == {
        'run': 'a', 'epochs': 3, 's/epoch': 2.0, 'best, %': 58.0, 's to 58 %': 4.0
    }  # fmt: skip
    assert math.isnan(curve.row(59)['s to 59 %'])
    plot_accuracy([curve], 58, tmp_path / 'accuracy.png')
    assert (tmp_path / 'accuracy.png').stat().st_size > 10_000


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
