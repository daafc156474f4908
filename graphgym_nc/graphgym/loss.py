"""Loss functions that GraphGym lacks.

GraphGym calls all registered ones in turn; each answers to its own
:obj:`model.loss_fun`.
"""

import torch.nn.functional as F
from torch import Tensor
from torch_geometric.graphgym import register
from torch_geometric.graphgym.config import cfg

from graphgym_nc.graphgym.register import register_once
from graphgym_nc.graphgym.validation import ConfigError


@register_once(register.loss_dict, 'weighted_cross_entropy')
def weighted_cross_entropy(pred: Tensor, true: Tensor) -> tuple[Tensor, Tensor] | None:
    """Cross entropy where a class of :math:`n` out of :math:`V` labels in the
    batch weighs :math:`(V - n) / V` (Dwivedi et al., 2020).
    """
    if cfg.model.loss_fun != 'weighted_cross_entropy':
        return None
    if pred.dim() != 2:
        raise ConfigError(
            "'model.loss_fun: weighted_cross_entropy' needs a score for each class, but "
            "GraphGym's own model has a single one for two: use this package's run/main.py"
        )
    ones = pred.new_ones(true.size(0))
    count = pred.new_zeros(pred.size(1)).index_add_(0, true, ones)
    weight = (true.size(0) - count) / true.size(0)
    score = F.log_softmax(pred, dim=-1)
    total = F.nll_loss(score, true, weight=weight, reduction='sum')
    # The weights of a batch with but one class are all zero.
    return total / weight[true].sum().clamp(min=1e-12), score


@register_once(register.loss_dict, 'l1')
def l1(pred: Tensor, true: Tensor) -> tuple[Tensor, Tensor] | None:
    """The mean absolute error."""
    if cfg.model.loss_fun != 'l1':
        return None
    return F.l1_loss(pred, true.to(pred.dtype), reduction=cfg.model.size_average), pred
