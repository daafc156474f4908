import pytest
import torch
from sklearn.model_selection import StratifiedKFold

from graphgym_nc.datasets.splits import ratio_split, stratified_fold


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
