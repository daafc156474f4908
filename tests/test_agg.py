import json

import pytest

from graphgym_nc.agg import agg_runs, best_epoch, best_of_run, less_is_better, mean_and_std


def write_run(folder, **splits):
    for split, values in splits.items():
        (folder / split).mkdir(parents=True)
        lines = [
            json.dumps({'epoch': epoch, 'acc': value, 'mae': value}) for epoch, value in values
        ]
        (folder / split / 'stats.json').write_text('\n'.join(lines) + '\n')


def test_less_is_better():
    assert less_is_better('mae', 'argmax')
    assert less_is_better('perplexity', 'argmin')
    assert not less_is_better('accuracy', 'argmax')


def test_best_epoch_is_the_earliest_of_the_best():
    stats = [{'epoch': e, 'acc': a} for e, a in ((0, 0.1), (1, 0.7), (2, 0.3), (3, 0.7))]
    assert best_epoch(stats, 'acc', minimise=False) == 1
    assert best_epoch(stats, 'acc', minimise=True) == 0


def test_test_is_reported_at_the_best_validation_epoch(tmp_path):
    write_run(
        tmp_path,
        train=[(0, 1), (1, 2), (2, 3), (3, 4)],
        val=[(1, 0.9), (3, 0.8)],
        test=[(1, 0.5), (3, 0.99)],
    )
    best = best_of_run(tmp_path, 'acc', minimise=False)
    assert {split: (row['epoch'], row['acc']) for split, row in best.items()} == {
        'train': (1, 2),
        'val': (1, 0.9),
        'test': (1, 0.5),
    }
    assert best_of_run(tmp_path, 'mae', minimise=True)['test']['mae'] == 0.99


def test_mean_and_std_by_hand():
    rows = [{'acc': 1.0, 'name': 'x'}, {'acc': 3.0, 'name': 'y'}]
    assert mean_and_std(rows) == {'acc': 2.0, 'acc_std': 1.0}


def test_agg_runs(tmp_path):
    for seed, (val, test) in enumerate((([0.1, 0.5], [0.2, 0.4]), ([0.6, 0.3], [0.8, 0.1]))):
        write_run(tmp_path / str(seed), val=enumerate(val), test=enumerate(test))
    (tmp_path / 'notes').mkdir()
    result = agg_runs(tmp_path, 'acc', minimise=False, source='here')
    assert result['test']['acc'] == pytest.approx(0.6)
    assert result['test']['acc_std'] == pytest.approx(0.2)
    written = json.loads((tmp_path / 'agg' / 'test' / 'best.json').read_text())
    assert written == result['test']
    assert (written['seeds'], written['data_source']) == (2, 'here')
    assert (written['metric'], written['minimise']) == ('acc', False)
