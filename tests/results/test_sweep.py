import json

import pandas as pd
import pytest

from graphgym_nc.results.aggregate import AggError
from graphgym_nc.results.manifest import MANIFEST
from graphgym_nc.results.names import choices
from graphgym_nc.results.sweep import agg_sweep, grid_runs
from tests.run_files import write_run


def write_grid(folder, **runs):
    """Runs of one seed for each value of `l`, and with two epochs."""
    for layers, (first, second) in runs.items():
        write_run(
            folder / f'nc_toy-l={layers[1:]}-act=relu' / '0',
            train=[(0, 0), (1, 0)], val=[(0, first), (1, second)],
            test=[(0, first / 2), (1, second / 2)],
        )  # fmt: skip


def read(folder, name):
    return pd.read_csv(folder / 'agg' / f'{name}.csv')


def test_tables(tmp_path):
    write_grid(tmp_path, _16=(0.2, 0.8), _4=(0.6, 0.4))
    write_run(
        tmp_path / 'nc_toy-l=4-act=relu' / '1',
        train=[(0, 0), (1, 0)], val=[(0, 0.2), (1, 0.8)], test=[(0, 0.0), (1, 1.0)],
    )  # fmt: skip
    assert agg_sweep(tmp_path) == []
    assert {path.name for path in (tmp_path / 'agg').iterdir()} == {
        f'{split}{kind}.csv'
        for split in ('train', 'val', 'test')
        for kind in ('', '_best', '_bestepoch')
    }
    last, best, common = (read(tmp_path, f'test{kind}') for kind in ('', '_best', '_bestepoch'))
    for frame in (last, best, common):
        assert frame.columns[:2].tolist() == ['l', 'act']
        assert frame['l'].tolist() == [4, 16]  # as numbers
        assert frame['seeds'].tolist() == [2, 1]
        assert not {'lr', 'eta', 'params_std'} & {*frame.columns}
    assert last['acc'].tolist() == pytest.approx([(0.2 + 1) / 2, 0.4])
    assert best['acc'].tolist() == pytest.approx([(0.3 + 1) / 2, 0.4])
    assert common['acc'].tolist() == pytest.approx([(0.2 + 1) / 2, 0.4])
    assert best['acc_std'].tolist() == pytest.approx([0.35, 0.0])
    per_run = json.loads((tmp_path / 'nc_toy-l=4-act=relu/agg/test/best.json').read_text())
    assert per_run['acc'] == pytest.approx(0.65)


def test_regression_takes_the_least(tmp_path):
    record = {'metric': 'mae', 'minimise': True}
    write_run(tmp_path / 'nc-l=1' / '0', record, val=[(0, 3), (1, 1), (2, 2)])
    agg_sweep(tmp_path)
    assert read(tmp_path, 'val_best')['mae'].tolist() == [1]
    assert read(tmp_path, 'val_bestepoch')['mae'].tolist() == [1]
    assert read(tmp_path, 'val')['mae'].tolist() == [2]


def test_what_is_not_done_is_reported_and_not_averaged(tmp_path):
    write_grid(tmp_path, _1=(0.1, 0.2))
    write_run(tmp_path / 'nc_toy-l=1-act=relu' / '1', {'status': 'RUNNING'}, val=[(0, 1)])
    write_run(tmp_path / 'nc_toy-l=2-act=relu' / '0', {'status': 'FAILED', 'reason': 'NaN'})
    entry = {'values': {'l': 3}, 'seeds': [0]}
    (tmp_path / MANIFEST).write_text(json.dumps({'nc_toy-l=3-act=relu': entry}))
    incomplete = agg_sweep(tmp_path)
    assert sorted(map(str, incomplete)) == [
        'nc_toy-l=1-act=relu/1: RUNNING',
        'nc_toy-l=2-act=relu/0: FAILED (NaN)',
        'nc_toy-l=3-act=relu/0: MISSING',
    ]
    assert read(tmp_path, 'test_best')[['l', 'seeds']].to_numpy().tolist() == [[1, 1]]
    assert len(read(tmp_path, 'incomplete')) == 3


def test_seeds_that_do_not_belong_together(tmp_path):
    write_grid(tmp_path, _1=(0.1, 0.2), _2=(0.1, 0.2))
    write_run(tmp_path / 'nc_toy-l=2-act=relu' / '1', {'data_source': 'other'}, val=[(0, 1)])
    (problem,) = agg_sweep(tmp_path)
    assert 'NOT AGGREGATED' in str(problem)
    assert 'data_source' in str(problem)
    assert read(tmp_path, 'val_best')['l'].tolist() == [1]


def test_again_after_the_rest_is_done(tmp_path):
    write_run(tmp_path / 'nc-l=1' / '0', {'status': 'FAILED'}, val=[(0, 1)])
    write_grid(tmp_path, _2=(0.1, 0.2))
    agg_sweep(tmp_path)
    write_run(tmp_path / 'nc-l=1' / '0')
    assert agg_sweep(tmp_path) == []
    assert not (tmp_path / 'agg' / 'incomplete.csv').exists()


def test_a_metric_that_is_not_there_leaves_the_tables(tmp_path):
    write_grid(tmp_path, _1=(0.1, 0.2))
    agg_sweep(tmp_path)
    before = {path: path.read_bytes() for path in (tmp_path / 'agg').iterdir()}
    with pytest.raises(AggError, match=r"none of the results in .*'nope'"):
        agg_sweep(tmp_path, 'nope', minimise=False)
    assert {path: path.read_bytes() for path in (tmp_path / 'agg').iterdir()} == before


def test_choices_of_names():
    assert choices('nc_toy-lr=1e-05-act=relu-steps=50,100') == {
        'lr': 1e-05,
        'act': 'relu',
        'steps': (50, 100),
    }
    assert choices('my-model-eval=val-test=1') == {'eval': 'val', 'test': 1}
    assert choices('nc_toy') == {}


def test_the_manifest_knows_better_than_names(tmp_path):
    write_grid(tmp_path, _1=(0.1, 0.2))
    entry = {'values': {'l': 1, 'steps': [1, 2]}, 'seeds': [0, 4]}
    (tmp_path / MANIFEST).write_text(json.dumps({'nc_toy-l=1-act=relu': entry}))
    (tmp_path / 'configs').mkdir()
    ((_, found),) = grid_runs(tmp_path).items()
    assert vars(found) == entry


def test_nothing_there(tmp_path):
    with pytest.raises(AggError, match='there are no results'):
        agg_sweep(tmp_path)
