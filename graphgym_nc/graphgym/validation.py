"""Checks a configuration before any work is done."""

import difflib
import importlib.util
import logging
import math
import re
from collections.abc import Iterable
from typing import Any

import yaml
from torch_geometric.graphgym import register
from torch_geometric.graphgym.config import set_cfg
from torch_geometric.graphgym.logger import infer_task
from yacs.config import CfgNode

from graphgym_nc import kernels
from graphgym_nc.nn._communicate import COMMUNICATE_AGGR
from graphgym_nc.results.aggregate import less_is_better
from graphgym_nc.results.differences import flat

# Keys that neither GraphGym nor this package reads.
IGNORED = (
    'benchmark', 'dataset.cache_load', 'dataset.cache_save', 'dataset.edge_message_ratio',
    'dataset.edge_negative_sampling_ratio', 'dataset.edge_train_mode', 'dataset.encoder',
    'dataset.encoder_bn', 'dataset.encoder_dim', 'dataset.encoder_name',
    'dataset.label_column', 'dataset.label_table', 'dataset.location',
    'dataset.resample_disjoint', 'dataset.tu_simple', 'gnn.att_final_linear',
    'gnn.att_final_linear_bn', 'gnn.att_heads', 'gnn.clear_feature', 'gnn.skip_every',
    'gpu_mem', 'nc.triangle_store_mb', 'train.epoch_resume', 'train.node_per_graph',
    'train.radius', 'train.sample_node', 'train.skip_train_eval', 'val.node_per_graph',
    'val.radius', 'val.sample_node', 'view_emb',
)  # fmt: skip

# The metrics of GraphGym's own logger.
_METRICS = {
    'classification_binary': ('accuracy', 'precision', 'recall', 'f1', 'auc'),
    'classification_multi': ('accuracy',),
    'regression': ('mae', 'mse', 'rmse'),
}

_SAMPLERS = (
    'cluster', 'full_batch', 'neighbor', 'random_node', 'saint_edge', 'saint_node', 'saint_rw',
)  # fmt: skip

STRATEGIES = (
    'auto', 'ddp', 'ddp_find_unused_parameters_false', 'ddp_find_unused_parameters_true',
)  # fmt: skip

SBM_SOURCES = ('auto', 'official', 'generated')


class ConfigError(ValueError):
    """A configuration that cannot be run."""


def check_nc(cfg: CfgNode) -> None:
    """Checks the keys of :obj:`cfg.nc`.

    Raises:
        ConfigError: Naming the key, what was given and what is allowed.
    """
    nc = cfg.nc
    _check(nc.mlp_layers >= 1, 'nc.mlp_layers', nc.mlp_layers, 'an integer from 1')
    width = nc.mlp_expansion
    _check(width >= 1, 'nc.mlp_expansion', width, 'an integer from 1')
    scale = nc.communicate_scale
    _check(math.isfinite(scale) and scale > 0, 'nc.communicate_scale', scale, 'a positive number')
    check_choice('nc.communicate_aggr', nc.communicate_aggr, COMMUNICATE_AGGR)
    _check(math.isfinite(nc.eps), 'nc.eps', nc.eps, 'a finite number')
    check_choice('nc.kernel', nc.kernel, kernels.CHOICES)
    check_choice('nc.init', nc.init, ('xavier', 'torch'))
    check_choice('nc.sbm_source', nc.sbm_source, SBM_SOURCES)
    sizes = nc.sbm_graphs
    valid = len(sizes) in (0, 3) and all(isinstance(n, int) and n >= 1 for n in sizes)
    _check(valid, 'nc.sbm_graphs', sizes, '[] or three positive integers: [train, val, test]')
    if nc.sbm_source == 'official':
        _check(not sizes, 'nc.sbm_graphs', sizes, "[] with 'nc.sbm_source: official'")
    _check(nc.sbm_seed >= 0, 'nc.sbm_seed', nc.sbm_seed, 'an integer from 0')
    timeout = nc.download_timeout
    _check(timeout > 0, 'nc.download_timeout', timeout, 'a positive number of seconds')
    number = nc.counting_graphs
    _check(number >= 10, 'nc.counting_graphs', number, 'an integer from 10')
    _check(nc.counting_seed >= 0, 'nc.counting_seed', nc.counting_seed, 'an integer from 0')


def check_cfg(cfg: CfgNode) -> None:
    """Checks the keys of :obj:`cfg.nc`, and the names of all registered parts
    that a configuration refers to.

    Raises:
        ConfigError: Naming the key, what was given and what is allowed.
    """
    check_nc(cfg)
    check_choice('print', cfg.print, ('stdout', 'file', 'both'))
    check_choice('model.type', cfg.model.type, register.network_dict)
    check_choice('gnn.layer_type', cfg.gnn.layer_type, register.layer_dict)
    check_choice('gnn.stage_type', cfg.gnn.stage_type, register.stage_dict)
    check_choice('gnn.head', cfg.gnn.head, register.head_dict)
    check_choice('gnn.act', cfg.gnn.act, register.act_dict)
    check_choice('model.graph_pooling', cfg.model.graph_pooling, register.pooling_dict)
    check_choice('optim.optimizer', cfg.optim.optimizer, register.optimizer_dict)
    check_choice('optim.scheduler', cfg.optim.scheduler, register.scheduler_dict)
    for metric in cfg.custom_metrics:
        check_choice('custom_metrics', metric, register.metric_dict)
    for kind in ('node', 'edge'):
        if cfg.dataset[f'{kind}_encoder']:
            key = f'{kind}_encoder_name'
            known = getattr(register, f'{kind}_encoder_dict')
            check_choice(f'dataset.{key}', cfg.dataset[key], known)
    check_choice('train.mode', cfg.train.mode, {'standard', *register.train_dict})
    losses = {'cross_entropy', 'mse', *register.loss_dict}
    check_choice('model.loss_fun', cfg.model.loss_fun, losses)
    check_choice('model.size_average', cfg.model.size_average, ('mean', 'sum'))
    check_choice('accelerator', cfg.accelerator, ('auto', 'cpu', 'cuda', 'gpu', 'mps', 'tpu'))
    check_choice('strategy', cfg.strategy, STRATEGIES)
    for key in ('devices', 'num_nodes'):
        valid = isinstance(cfg[key], int) and cfg[key] >= 1
        _check(valid, key, cfg[key], 'an integer from 1')
    for part in ('train', 'val'):
        check_choice(f'{part}.sampler', cfg[part].sampler, _SAMPLERS)
    _check(0 <= cfg.gnn.dropout < 1, 'gnn.dropout', cfg.gnn.dropout, 'at least 0 and below 1')
    for key in ('layers_pre_mp', 'layers_mp'):
        _check(cfg.gnn[key] >= 0, f'gnn.{key}', cfg.gnn[key], 'an integer from 0')
    _check(cfg.gnn.dim_inner >= 1, 'gnn.dim_inner', cfg.gnn.dim_inner, 'an integer from 1')
    check_choice('metric_agg', cfg.metric_agg, ('argmax', 'argmin'))
    _check(cfg.optim.max_epoch >= 1, 'optim.max_epoch', cfg.optim.max_epoch, 'an integer from 1')
    for key in ('eval_period', 'ckpt_period', 'batch_size'):
        _check(cfg.train[key] >= 1, f'train.{key}', cfg.train[key], 'an integer from 1')
    for key in ('clip_grad_norm', 'num_warmup_epochs', 'schedule_patience', 'base_lr'):
        _check(cfg.optim[key] >= 0, f'optim.{key}', cfg.optim[key], 'at least 0')
    number = cfg.optim.batch_accumulation
    _check(number >= 1, 'optim.batch_accumulation', number, 'an integer from 1')
    number = cfg.train.early_stopping
    _check(number >= 0, 'train.early_stopping', number, 'an integer from 0')
    ratios = cfg.dataset.split
    valid = len(ratios) in (2, 3) and min(ratios) > 0 and sum(ratios) <= 1 + 1e-9
    _check(valid, 'dataset.split', ratios, 'two or three shares that add up to at most 1')
    mode = cfg.dataset.split_mode
    valid = mode in ('random', 'custom') or re.fullmatch(r'cv-stratified-([2-9]|\d\d+)', mode)
    _check(bool(valid), 'dataset.split_mode', mode, 'random, custom or cv-stratified-<folds>')
    if cfg.wandb.use and importlib.util.find_spec('wandb') is None:
        raise ConfigError(
            "'wandb.use' is True, but Weights & Biases is not installed: pip install wandb, or "
            "set 'wandb.use: False'"
        )
    _warn_of_ignored(cfg)


def defaults() -> dict[str, Any]:
    """What every key is unless it is set, by full names."""
    config = CfgNode()
    set_cfg(config)
    return flat(yaml.safe_load(config.dump()))


def _warn_of_ignored(cfg: CfgNode) -> None:
    """Names the keys that have been set and that nothing reads."""
    usual = defaults()
    for key, value in flat(yaml.safe_load(cfg.dump())).items():
        if key in IGNORED and value != usual[key]:
            logging.warning("'%s: %s' has no effect: nothing reads this key", key, value)


def best_metric(cfg: CfgNode) -> tuple[str, bool]:
    """The metric that chooses the reported epoch, and whether less of it is
    better; known once the data set is.

    Raises:
        ConfigError: If the run will have no such metric.
    """
    metric = cfg.metric_best
    if metric == 'auto' and cfg.custom_metrics:
        metric = cfg.custom_metrics[0]
    elif metric == 'auto':
        usual = {'regression': 'mae', 'classification_binary': 'auc'}
        metric = usual.get(infer_task(), 'accuracy')
    check_choice('metric_best', metric, {'loss', *(cfg.custom_metrics or _METRICS[infer_task()])})
    return metric, less_is_better(metric, cfg.metric_agg)


def _check(valid: bool, key: str, value: Any, allowed: str) -> None:
    if not valid:
        raise ConfigError(f"'{key}' is {value!r}, but must be {allowed}")


def check_choice(key: str, value: Any, choices: Iterable[Any]) -> None:
    """Checks a key that has a name for value.

    Raises:
        ConfigError: Naming the key, the choices and the nearest of them.
    """
    names = sorted(str(choice) for choice in choices)
    if value in choices:
        return
    near = difflib.get_close_matches(str(value), names, n=1, cutoff=0.4)
    hint = f" Did you mean '{near[0]}'?" if near else ''
    raise ConfigError(f"'{key}' is {value!r}, but must be one of {', '.join(names)}.{hint}")
