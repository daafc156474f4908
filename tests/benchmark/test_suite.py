import json

import pytest
from torch_geometric.data import Data

from graphgym_nc.benchmark import suite
from graphgym_nc.benchmark.workloads import Workload


@pytest.fixture
def options(tmp_path):
    return suite.Options(['imdb'], 1, 9, tmp_path, 1e3, tmp_path / 'plots')


def test_every_measurement_is_printed_and_kept(options, tmp_path, monkeypatch, capsys):
    rows = [{'workload': 'imdb', 'ms': 1234.5, 'MB': 0.5678, 'none': float('nan'), 'edges': 9999}]
    measures = {'one': lambda given: rows, 'two': lambda given: [{'repeat': given.repeat}]}
    monkeypatch.setattr(suite, 'MEASURES', measures)
    monkeypatch.setattr(suite, 'copy_bandwidth', lambda device: 7e9)
    monkeypatch.setattr(suite, 'matmul_flops', lambda rows, width, device: 3e9)
    monkeypatch.setattr(suite.torch, 'set_num_threads', lambda threads: None)
    suite.run_suite(['one', 'two'], options, tmp_path / 'all.json')
    printed = capsys.readouterr().out
    assert '7 GB/s copied, 3 GFLOP/s' in printed
    (row,) = (line for line in printed.splitlines() if line.startswith('| imdb'))
    cells = [cell.strip() for cell in row.split('|')[1:-1]]
    assert cells == ['imdb', '1,234', '0.568', '-', '9,999']
    kept = json.loads((tmp_path / 'all.json').read_text())
    assert kept['two'] == [{'repeat': 9}]
    assert kept['one'][0]['ms'] == 1234.5


def test_a_measurement_of_every_workload_has_its_plot(options, monkeypatch):
    monkeypatch.setattr(
        suite, 'load_workload', lambda name, folder: Workload(name, 'drawn', Data(), 1)
    )
    plotted = []
    run = suite.of_each(
        lambda workload, repeat: {workload.name: repeat},
        lambda rows, path: plotted.append((rows, path.name)),
        'it.png',
    )
    assert run(options) == [{'imdb': 9}]
    assert plotted == [([{'imdb': 9}], 'it.png')]
