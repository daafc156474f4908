import pytest
import torch
from torch_geometric.graphgym.optim import create_optimizer


def test_adamw(cfg):
    cfg.optim.update(optimizer='adamW', base_lr=0.5, weight_decay=0.1)
    weight = torch.nn.Parameter(torch.tensor([2.0]))
    optimizer = create_optimizer([weight], cfg.optim)
    weight.grad = torch.zeros(1)
    optimizer.step()
    assert weight.item() == pytest.approx(2 * (1 - 0.5 * 0.1))
