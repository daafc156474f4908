"""Optimizers that GraphGym lacks."""

from collections.abc import Iterator

from torch.nn import Parameter
from torch.optim import AdamW
from torch_geometric.graphgym import register

from graphgym_nc.graphgym.register import register_once


@register_once(register.optimizer_dict, 'adamW')  # as GraphGPS names it
def adamw_optimizer(params: Iterator[Parameter], base_lr: float, weight_decay: float) -> AdamW:
    """Adam, whose weight decay is apart from the gradient."""
    return AdamW(params, lr=base_lr, weight_decay=weight_decay)
