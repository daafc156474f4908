import subprocess
import sys

import pytest
import torch
from sklearn.model_selection import StratifiedKFold

from graphgym_nc.datasets.splits import (
    Folds,
    gin_fold,
    inner_validation,
    ratio_split,
    stratified_fold,
)


def test_ratio_split_in_order():
    parts = ratio_split(10, [0.5, 0.2, 0.3], seed=0, shuffle=False)
    assert [part.tolist() for part in parts] == [[0, 1, 2, 3, 4], [5, 6], [7, 8, 9]]


def test_ratio_split_at_random():
    parts = ratio_split(100, [0.8, 0.1, 0.1], seed=3)
    assert [len(part) for part in parts] == [80, 10, 10]
    assert torch.cat(parts).sort().values.tolist() == list(range(100))
    again, other = (ratio_split(100, [0.8, 0.1, 0.1], seed=seed) for seed in (3, 4))
    assert all(torch.equal(a, b) for a, b in zip(parts, again, strict=True))
    assert not torch.equal(parts[0], other[0])


def test_shares_need_not_use_everything():
    assert [len(part) for part in ratio_split(10, [0.3, 0.2], seed=0)] == [3, 2]


@pytest.mark.parametrize('ratios', [[0.8, 0.3], [1.0, 0.0], [0.5, -0.1]])
def test_what_are_no_shares(ratios):
    with pytest.raises(ValueError, match='no shares'):
        ratio_split(10, ratios, seed=0)


def test_too_few_items():
    with pytest.raises(ValueError, match='3 items are too few'):
        ratio_split(3, [0.8, 0.1, 0.1], seed=0)


def test_folds_are_those_of_gin():
    labels = torch.tensor([0] * 37 + [1] * 23)
    folds = StratifiedKFold(10, shuffle=True, random_state=0).split(torch.zeros(60), labels)
    seen = []
    for fold, (train, held_out) in enumerate(folds):
        ours = stratified_fold(labels, 10, fold)
        assert ours[0].tolist() == train.tolist()
        assert ours[1].tolist() == held_out.tolist()
        seen += held_out.tolist()
    assert sorted(seen) == list(range(60))
    with pytest.raises(ValueError, match='no fold 10 of 10'):
        stratified_fold(labels, 10, 10)


@pytest.mark.parametrize(
    ('mode', 'folds'),
    [
        ('cv-stratified-10', Folds(10, files=False, inner=False)),
        ('cv-stratified-5-inner', Folds(5, files=False, inner=True)),
        ('gin-folds', Folds(10, files=True, inner=False)),
        ('gin-folds-inner', Folds(10, files=True, inner=True)),
        ('cv-stratified-1', None),
        ('gin-folds-5', None),
        ('random', None),
    ],
)
def test_modes(mode, folds):
    assert Folds.of(mode) == folds


@pytest.fixture
def fold_files(tmp_path):
    """Ten folds of 40 graphs, of which the last is in none."""
    folder = tmp_path / '10fold_idx'
    folder.mkdir()
    for fold in range(10):
        test = {i for i in range(39) if i % 10 == fold}
        for name, indices in (('test', test), ('train', set(range(40)) - test)):
            text = ''.join(f'{i}\n' for i in sorted(indices))
            (folder / f'{name}_idx-{fold + 1}.txt').write_text(text)
    return folder


def test_folds_of_files(fold_files):
    train, held_out = gin_fold(fold_files, 40, 9)
    assert held_out.tolist() == [9, 19, 29]
    assert sorted([*train.tolist(), *held_out.tolist()]) == list(range(40))


def test_bad_fold_files(fold_files):
    with pytest.raises(ValueError, match='no fold 10 of 10'):
        gin_fold(fold_files, 40, 10)
    with pytest.raises(ValueError, match='no folds of 39 graphs'):
        gin_fold(fold_files, 39, 0)
    (fold_files / 'test_idx-1.txt').write_text('39\n')  # which is in training, too
    with pytest.raises(ValueError, match='no folds of 40 graphs'):
        gin_fold(fold_files, 40, 0)
    (fold_files / 'test_idx-1.txt').unlink()
    with pytest.raises(FileNotFoundError, match=r'test_idx-1.*dataset\.zip of .*cv-stratified-10'):
        gin_fold(fold_files, 40, 0)


def test_inner_validation():
    labels = torch.tensor([0] * 130 + [1] * 70)
    parts = stratified_fold(labels, 10, 3)
    train, val, test = inner_validation(parts, labels)
    assert test.tolist() == parts[1].tolist()
    assert sorted([*train.tolist(), *val.tolist()]) == parts[0].tolist()
    assert labels[val].bincount().tolist() == [12, 6]  # of 117 and 63
    assert torch.equal(val, inner_validation(parts, labels)[1])


@pytest.mark.parametrize(('name', 'size', 'left_out'), [('MUTAG', 188, 8), ('PROTEINS', 1113, 3)])
def test_folds_of_gin(shared_data, tmp_path, name, size, left_out):
    command = [sys.executable, shared_data / 'unpack.py', 'folds', name, tmp_path]
    subprocess.run(command, check=True)
    folds = [gin_fold(tmp_path, size, fold) for fold in range(10)]
    held_out = torch.cat([test for _, test in folds])
    assert len(held_out.unique()) == len(held_out) == size - left_out
    assert all(len(train) + len(test) == size for train, test in folds)
