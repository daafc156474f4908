"""Learning rate schedulers that GraphGym lacks.

One that takes :obj:`total_steps` moves at every step; all others at the end of
an epoch.
"""

import math

from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR, MultiStepLR, OneCycleLR, ReduceLROnPlateau
from torch_geometric.graphgym import register

from graphgym_nc.graphgym.register import register_once

PLATEAU = 'reduce_on_plateau'


@register_once(register.scheduler_dict, 'steps')  # as GraphGym's own comment names it
def steps_scheduler(optimizer: Optimizer, steps: list[int], lr_decay: float) -> MultiStepLR:
    """The rate times :obj:`lr_decay` at each of the :obj:`steps` (epochs)."""
    return MultiStepLR(optimizer, milestones=steps, gamma=lr_decay)


@register_once(register.scheduler_dict, 'one_cycle')
def one_cycle_scheduler(optimizer: Optimizer, base_lr: float, total_steps: int) -> OneCycleLR:
    """Up to :obj:`base_lr` and down to about zero, moving at every step."""
    return OneCycleLR(optimizer, max_lr=base_lr, total_steps=total_steps)


@register_once(register.scheduler_dict, 'cosine_with_warmup')
def cosine_with_warmup_scheduler(
    optimizer: Optimizer, num_warmup_epochs: int, max_epoch: int
) -> LambdaLR:
    """Linearly up to the base rate, then along a cosine to zero."""

    def factor(epoch: int) -> float:
        if epoch < num_warmup_epochs:
            return (epoch + 1) / (num_warmup_epochs + 1)
        progress = (epoch - num_warmup_epochs) / max(1, max_epoch - num_warmup_epochs)
        return 0.5 * (1 + math.cos(math.pi * progress))

    return LambdaLR(optimizer, factor)


@register_once(register.scheduler_dict, PLATEAU)
def plateau_scheduler(
    optimizer: Optimizer, schedule_patience: int, lr_decay: float
) -> ReduceLROnPlateau:
    """The rate times :obj:`lr_decay` when the validation loss stops falling."""
    return ReduceLROnPlateau(optimizer, factor=lr_decay, patience=schedule_patience)


@register_once(register.scheduler_dict, 'inverse_sqrt')
def inverse_sqrt_scheduler(
    optimizer: Optimizer, num_warmup_steps: int, total_steps: int
) -> LambdaLR:
    """Linearly up to the base rate, then down with the root of the number of steps; moving at
    every step, however many there will be.
    """

    def factor(step: int) -> float:
        if step < num_warmup_steps:
            return (step + 1) / (num_warmup_steps + 1)
        return math.sqrt(num_warmup_steps / step)

    return LambdaLR(optimizer, factor)
