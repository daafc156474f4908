import torch
from sklearn.metrics import balanced_accuracy_score

from graphgym_nc.graphgym.metric import accuracy_ogb, accuracy_sbm


def test_accuracy_sbm_by_hand(cfg):
    true = [torch.tensor([0, 0, 0]), torch.tensor([0, 1])]
    pred = torch.eye(3)[[0, 0, 0, 1, 1]]
    # 3 of 4 in class 0, 1 of 1 in class 1, nobody in class 2; in two batches.
    assert accuracy_sbm(true, [pred[:3], pred[3:]], 'classification_multi') == 0.875


def test_accuracy_sbm_of_a_class_that_is_not_there(cfg):
    # sklearn's balanced_accuracy_score warns, which is an error here.
    assert accuracy_sbm([torch.tensor([0, 0, 1])], [torch.eye(3)[[0, 2, 1]]], 'any') == 0.75


def test_accuracy_sbm_equals_sklearn(cfg):
    generator = torch.Generator().manual_seed(0)
    true = torch.randint(0, 6, (500,), generator=generator)
    pred = torch.randn(500, 6, generator=generator)
    expected = balanced_accuracy_score(true, pred.argmax(dim=1))
    assert accuracy_sbm([true], [pred], 'classification_multi') == round(expected, 4)


def test_accuracy_sbm_of_one_score(cfg):
    true, pred = torch.tensor([0, 0, 0, 1]), torch.tensor([0.1, 0.4, 0.6, 0.9])
    expected = balanced_accuracy_score(true, pred > 0.5)
    assert accuracy_sbm([true], [pred], 'classification_binary') == round(expected, 4)
    cfg.model.thresh = 0.3
    assert accuracy_sbm([true], [pred], 'classification_binary') == round((1 / 3 + 1) / 2, 4)


def test_accuracy_of_ogb_by_hand(cfg):
    cfg.dataset.name = 'ogbg-ppa'
    pred = torch.eye(37)[[36, 0, 5]]
    assert accuracy_ogb(
        [torch.tensor([[36], [0]]), torch.tensor([[4]])], [pred[:2], pred[2:]], 'classification'
    ) == round(2 / 3, 4)
