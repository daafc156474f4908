import pytest
import torch
from torch_geometric.graphgym.loss import compute_loss

from graphgym_nc.graphgym.validation import ConfigError


def test_weighted_cross_entropy_by_hand(cfg):
    cfg.model.loss_fun = 'weighted_cross_entropy'
    pred = torch.tensor([[2.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0], [1.0, 1.0, 0.0]])
    true = torch.tensor([0, 0, 0, 1])
    # Classes of 3, 1 and 0 out of 4 labels weigh 1/4, 3/4 (and 1, for nobody).
    loss, score = compute_loss(pred, true)
    log_p = pred.log_softmax(dim=1)
    weight = torch.tensor([0.25, 0.25, 0.25, 0.75])
    expected = -(weight * log_p[range(4), true]).sum() / weight.sum()
    torch.testing.assert_close(loss, expected)
    torch.testing.assert_close(score, log_p)


def test_weighted_cross_entropy_waits_for_nobody(cfg):
    cfg.model.loss_fun = 'weighted_cross_entropy'
    pred = torch.empty(4, 3, device='meta', requires_grad=True)
    loss, _ = compute_loss(pred, torch.empty(4, device='meta', dtype=torch.long))
    loss.backward()
    assert pred.grad.is_meta


def test_weighted_cross_entropy_of_one_class(cfg):
    cfg.model.loss_fun = 'weighted_cross_entropy'
    pred = torch.randn(4, 3, requires_grad=True)
    loss, _ = compute_loss(pred, torch.zeros(4, dtype=torch.long))
    loss.backward()
    assert loss == 0
    assert pred.grad.eq(0).all()


def test_weighted_cross_entropy_of_a_single_score(cfg):
    cfg.model.loss_fun = 'weighted_cross_entropy'
    with pytest.raises(ConfigError, match='needs a score for each class'):
        compute_loss(torch.randn(4), torch.zeros(4, dtype=torch.long))


def test_l1(cfg):
    cfg.model.loss_fun = 'l1'
    loss, score = compute_loss(torch.tensor([[1.0], [4.0]]), torch.tensor([2, 2]))
    assert loss == 1.5
    assert score.tolist() == [1.0, 4.0]


def test_others_are_left_to_graphgym(cfg):
    cfg.model.loss_fun = 'mse'
    assert compute_loss(torch.tensor([1.0, 4.0]), torch.tensor([2, 2]))[0] == 2.5
    cfg.model.loss_fun = 'nonsense'
    with pytest.raises(ValueError, match='nonsense'):
        compute_loss(torch.tensor([1.0]), torch.tensor([2]))
