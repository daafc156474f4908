import json

import matplotlib.image
import pytest

from graphgym_nc.agg import agg_runs
from graphgym_nc.report import Run, markdown, plot_curves, table


@pytest.fixture
def runs(tmp_path):
    """Two models on a task of three epochs, with two seeds and one."""
    for name, seeds in (('gin_toy', 1), ('nc_toy', 2)):
        folder = tmp_path / name
        for seed in range(seeds):
            for split in ('train', 'val', 'test'):
                (folder / str(seed) / split).mkdir(parents=True)
                rows = [
                    {
                        'epoch': e,
                        'acc': (0.5, 0.7, 0.6)[e] + seed / 10,
                        'params': 42,
                        'time_epoch': 2.0,
                    }
                    for e in range(3)
                ]
                path = folder / str(seed) / split / 'stats.json'
                path.write_text(''.join(json.dumps(row) + '\n' for row in rows))
        agg_runs(folder, 'acc', minimise=False, source='made up')
    return [Run.load(tmp_path / name) for name in ('gin_toy', 'nc_toy')]


def test_table(runs):
    frame = table(runs)
    assert frame['run'].tolist() == ['gin_toy', 'nc_toy']
    assert frame['test'].tolist() == ['0.7000', '0.7500 ± 0.0500']
    assert frame['seeds'].tolist() == [1, 2]
    assert frame['epochs'].tolist() == [3, 3]
    assert frame['s/epoch'].tolist() == [2.0, 2.0]
    assert frame['parameters'].tolist() == [42, 42]
    assert frame['data'].tolist() == ['made up', 'made up']


def test_markdown(runs):
    header, rule, *rows = markdown(table(runs)[['run', 'seeds']]).splitlines()
    assert header == '| run     | seeds |'
    assert rule == '| --------|------ |'
    assert rows == ['| gin_toy | 1     |', '| nc_toy  | 2     |']


def test_plot(runs, tmp_path):
    path = tmp_path / 'plots' / 'curves.png'
    plot_curves(runs, path)
    image = matplotlib.image.imread(path)
    assert image.shape[0] > 400
    assert image.std() > 0.05  # something is drawn


def test_no_results(tmp_path):
    with pytest.raises(FileNotFoundError, match='no aggregated results'):
        Run.load(tmp_path)
