import pytest
import torch
from torch_geometric.graphgym import register
from torch_geometric.graphgym.config import from_config


def rates(cfg, name, number, more=(), **optim):
    cfg.optim.update(optim)
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=cfg.optim.base_lr)
    scheduler = from_config(register.scheduler_dict[name])(optimizer, cfg=cfg.optim, **dict(more))
    out = []
    for _ in range(number):
        out.append(optimizer.param_groups[0]['lr'])
        optimizer.step()
        scheduler.step()
    return out


def test_steps(cfg):
    out = rates(cfg, 'steps', 4, base_lr=1.0, steps=[1, 3], lr_decay=0.5)
    assert out == [1.0, 0.5, 0.5, 0.25]


def test_cosine_with_warmup(cfg):
    out = rates(cfg, 'cosine_with_warmup', 6, base_lr=1.0, num_warmup_epochs=2, max_epoch=6)
    assert out == pytest.approx([1 / 3, 2 / 3, 1, 0.853553, 0.5, 0.146447], rel=1e-5)


def test_inverse_sqrt(cfg):
    more = {'total_steps': 100}
    out = rates(cfg, 'inverse_sqrt', 17, more, base_lr=1.0, num_warmup_steps=4)
    assert out[:6] == pytest.approx([0.2, 0.4, 0.6, 0.8, 1, (4 / 5) ** 0.5])
    assert out[16] == pytest.approx(0.5)


def test_plateau(cfg):
    cfg.optim.update(base_lr=1.0, schedule_patience=1, lr_decay=0.1)
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)
    scheduler = from_config(register.scheduler_dict['reduce_on_plateau'])(optimizer, cfg=cfg.optim)
    for loss in (1.0, 0.5, 0.6, 0.7):
        scheduler.step(loss)
    assert optimizer.param_groups[0]['lr'] == pytest.approx(0.1)
