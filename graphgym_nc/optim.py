"""Learning rate schedulers that GraphGym lacks."""

from torch.optim import Optimizer
from torch.optim.lr_scheduler import OneCycleLR
from torch_geometric.graphgym import register

from graphgym_nc.registry import register_once


@register_once(register.scheduler_dict, 'one_cycle')
def one_cycle_scheduler(optimizer: Optimizer, base_lr: float, total_steps: int) -> OneCycleLR:
    """Up to :obj:`base_lr` and down to about zero, moving at every step."""
    return OneCycleLR(optimizer, max_lr=base_lr, total_steps=total_steps)
