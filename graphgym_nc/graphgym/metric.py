"""Metrics that GraphGym lacks."""

import torch
from sklearn.metrics import recall_score
from torch import Tensor
from torch_geometric.graphgym import register
from torch_geometric.graphgym.config import cfg

from graphgym_nc.graphgym.register import register_once


@register_once(register.metric_dict, 'accuracy_sbm')
def accuracy_sbm(true: list[Tensor], pred: list[Tensor], task_type: str) -> float:
    """The mean over classes of the accuracy within each class, on the whole
    split; the metric of PATTERN and CLUSTER.
    """
    label, score = torch.cat(true), torch.cat(pred)
    # GraphGym gives a node of two classes one score.
    predicted = score.argmax(dim=-1) if score.dim() == 2 else (score > cfg.model.thresh).long()
    # balanced_accuracy_score would warn of classes that are predicted but not there.
    mean = recall_score(label, predicted, labels=label.unique(), average='macro')
    return round(float(mean), cfg.round)


@register_once(register.metric_dict, 'accuracy_ogb')
def accuracy_ogb(true: list[Tensor], pred: list[Tensor], task_type: str) -> float:
    """The accuracy by the evaluator of an OGB data set, such as ogbg-ppa."""
    from ogb.graphproppred import Evaluator

    label, score = torch.cat(true).view(-1, 1), torch.cat(pred)
    evaluator = Evaluator(cfg.dataset.name.replace('_', '-'))
    predicted = score.argmax(dim=-1, keepdim=True)
    return round(float(evaluator.eval({'y_true': label, 'y_pred': predicted})['acc']), cfg.round)
