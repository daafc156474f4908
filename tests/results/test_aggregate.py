import json
import math

import pytest

from graphgym_nc.results.aggregate import (
    AggError,
    agg_runs,
    aggregate,
    best_epoch,
    less_is_better,
    mean_and_std,
    read_stats,
    run_status,
    seed_folders,
)
from tests.run_files import write_run


def test_less_is_better():
    assert less_is_better('mae', 'argmax')
    assert less_is_better('perplexity', 'argmin')
    assert not less_is_better('accuracy', 'argmax')
    # GraphGym would evaluate it.
    assert not less_is_better('accuracy', '__class__.__name__.__len__')


def test_best_epoch_is_the_earliest_of_the_best():
    stats = [{'epoch': e, 'acc': a} for e, a in ((0, 0.1), (1, 0.7), (2, 0.3), (3, 0.7))]
    assert best_epoch(stats, 'acc', minimise=False) == 1
    assert best_epoch(stats, 'acc', minimise=True) == 0


def test_nan_is_never_best():
    stats = [{'epoch': e, 'acc': a} for e, a in ((0, math.nan), (1, 0.2), (2, math.nan))]
    assert best_epoch(stats, 'acc', minimise=False) == 1
    assert best_epoch(stats, 'acc', minimise=True) == 1
    with pytest.raises(AggError, match="no value of 'f1'"):
        best_epoch(stats, 'f1', minimise=True)


def test_test_is_reported_at_the_best_validation_epoch(tmp_path):
    write_run(
        tmp_path / '0',
        train=[(0, 1), (1, 2), (2, 3), (3, 4)],
        val=[(1, 0.9), (3, 0.8)],
        test=[(1, 0.5), (3, 0.99)],
    )
    best = aggregate(tmp_path).best
    assert {split: (row['epoch'], row['acc']) for split, row in best.items()} == {
        'train': (1, 2),
        'val': (1, 0.9),
        'test': (1, 0.5),
    }
    assert aggregate(tmp_path, 'mae').best['test']['mae'] == 0.99


def test_mean_and_std_by_hand():
    rows = [{'acc': 1.0, 'name': 'x', 'f1': 1.0}, {'acc': 3.0, 'name': 'y'}]
    assert mean_and_std(rows) == {'acc': 2.0, 'acc_std': 1.0}


def test_folders_by_number(tmp_path):
    for name in ('10', '9', 'agg', 'val', '1.5'):
        (tmp_path / name).mkdir()
    (tmp_path / '3').touch()
    assert [path.name for path in seed_folders(tmp_path)] == ['9', '10']


@pytest.mark.parametrize('status', ['DONE', 'FAILED', 'RUNNING'])
def test_status(tmp_path, status):
    write_run(tmp_path, {'status': status})
    assert run_status(tmp_path) == status


def test_status_without_a_record(tmp_path):
    assert run_status(tmp_path / 'nowhere') == 'MISSING'
    (tmp_path / 'run.json').write_text('{"status": "DO')
    assert run_status(tmp_path) == 'MISSING'
    write_run(tmp_path, False, val=[(0, 1)])
    assert run_status(tmp_path) == 'UNKNOWN'


@pytest.fixture
def two_seeds(tmp_path):
    for seed, (val, test) in enumerate((([0.1, 0.5], [0.2, 0.4]), ([0.6, 0.3], [0.8, 0.1]))):
        write_run(tmp_path / str(seed), val=enumerate(val), test=enumerate(test))
    (tmp_path / 'notes').mkdir()
    return tmp_path


def test_agg_runs(two_seeds):
    result = agg_runs(two_seeds)
    # Epoch 1 of seed 0 and epoch 0 of seed 1: (0.4 + 0.8) / 2.
    assert result['test']['acc'] == pytest.approx(0.6)
    assert result['test']['acc_std'] == pytest.approx(0.2)
    assert result['test']['epoch'] == 0.5
    written = json.loads((two_seeds / 'agg' / 'test' / 'best.json').read_text())
    assert written == result['test']
    assert (written['seeds'], written['data_source']) == (2, 'made up')
    assert (written['metric'], written['minimise']) == ('acc', False)
    curve = read_stats(two_seeds / 'agg' / 'val' / 'stats.json')
    assert [(row['epoch'], row['acc']) for row in curve] == [
        (0, pytest.approx(0.35)),
        (1, pytest.approx(0.4)),
    ]


def test_three_ways_to_choose_an_epoch(two_seeds):
    result = aggregate(two_seeds)
    assert result.last['test']['acc'] == pytest.approx(0.25)
    assert result.best['test']['acc'] == pytest.approx(0.6)
    # The mean of validation is best at epoch 1; that of test, which GraphGym
    # would choose by, at epoch 0.
    assert result.best_epoch['test']['acc'] == pytest.approx(0.25)
    assert result.best_epoch['test']['epoch'] == 1


def test_metric_and_direction_are_those_of_the_runs(tmp_path):
    record = {'metric': 'mae', 'minimise': True}
    write_run(tmp_path / '0', record, val=[(0, 3), (1, 1), (2, 2)], test=[(0, 6), (1, 7), (2, 8)])
    best = agg_runs(tmp_path)
    assert best['test']['mae'] == 7
    assert best['test']['metric'] == 'mae'
    assert agg_runs(tmp_path, 'acc')['test']['acc'] == 6
    assert agg_runs(tmp_path, minimise=False)['test']['mae'] == 6


@pytest.mark.parametrize('status', ['FAILED', 'RUNNING'])
def test_only_what_is_done_is_averaged(two_seeds, status):
    write_run(two_seeds / '2', {'status': status}, val=[(0, 1.0)], test=[(0, 1.0)])
    write_run(two_seeds / '3', {'status': status})  # before its first epoch
    result = agg_runs(two_seeds)['test']
    assert (result['seeds'], result['seed_folders']) == (2, [0, 1])
    assert result['acc'] == pytest.approx(0.6)


def test_seeds_of_different_length(tmp_path):
    write_run(tmp_path / '0', val=[(0, 1), (1, 3)], test=[(0, 10), (1, 20)])
    write_run(tmp_path / '1', val=[(0, 2), (1, 2), (2, 5)], test=[(0, 1), (1, 2), (2, 3)])
    result = aggregate(tmp_path)
    assert [row['epoch'] for row in result.curve['val']] == [0, 1]
    assert result.best['test']['acc'] == (20 + 3) / 2
    assert result.last['test']['acc'] == (20 + 3) / 2
    assert result.best_epoch['test']['acc'] == (20 + 2) / 2


def test_runs_without_a_record_need_a_metric(tmp_path):
    write_run(tmp_path / '0', False, val=[(0, 1), (1, 3)])
    with pytest.raises(AggError, match='no seed is DONE'):
        agg_runs(tmp_path)
    assert agg_runs(tmp_path, 'mae')['val']['mae'] == 1
    assert agg_runs(tmp_path, 'acc')['val']['data_source'] == 'unknown'


@pytest.mark.parametrize('key', ['data_source', 'metric'])
def test_seeds_that_do_not_belong_together(two_seeds, key):
    write_run(two_seeds / '2', {key: 'other'}, val=[(0, 1)])
    with pytest.raises(AggError, match=f"differ in '{key}'"):
        agg_runs(two_seeds)


def test_done_without_validation(tmp_path):
    write_run(tmp_path / '0', train=[(0, 1)])
    with pytest.raises(AggError, match='there is no validation'):
        agg_runs(tmp_path)
