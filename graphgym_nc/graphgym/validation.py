"""Checks a configuration before any work is done."""

import difflib
import importlib.util
import logging
import sys
from collections.abc import Collection
from typing import Any

from torch_geometric.graphgym.logger import infer_task
from yacs.config import CfgNode

from graphgym_nc.datasets.official_sbm import check_source
from graphgym_nc.graphgym.keys import IGNORED, KEYS, defaults, leaves
from graphgym_nc.graphgym.scheduler import PLATEAU
from graphgym_nc.results.aggregate import less_is_better

# The metrics of GraphGym's own logger.
_METRICS = {
    'classification_binary': ('accuracy', 'precision', 'recall', 'f1', 'auc'),
    'classification_multi': ('accuracy',),
    'regression': ('mae', 'mse', 'rmse'),
}


class ConfigError(ValueError):
    """A configuration that cannot be run."""


def check_type(key: str, value: Any, kind: type) -> None:
    """Checks that a value has the type of the key's default.

    Raises:
        ConfigError: Naming the key, what was given and what is allowed.
    """
    if type(value) is not kind and (type(value), kind) != (int, float):
        given = f'{value!r} ({type(value).__name__})'
        raise ConfigError(f"'{key}' is {given}, but must be of type {kind.__name__}")


def check_value(key: str, value: Any, kind: type) -> None:
    """Checks a key by the table of :mod:`~graphgym_nc.graphgym.keys`.

    Args:
        key: The full name.
        value: The value.
        kind: The type that it must have.

    Raises:
        ConfigError: Naming the key, what was given and what is allowed.
    """
    rule = KEYS[key].rule
    choices = rule.choices() if rule.choices is not None else ()
    if value is None and None in choices:
        return  # GraphGym has registered a scheduler of this name
    check_type(key, value, kind)
    if kind is float and not abs(value) <= sys.float_info.max:  # nor is NaN
        raise ConfigError(f"'{key}' is {value!r}, but must be a finite number")
    if rule.holds(value):
        return
    if not choices:
        raise ConfigError(f"'{key}' is {value!r}, but must be {rule.words}")
    for name in value if isinstance(value, list) else [value]:
        check_choice(key, name, choices)


def check_peers(cfg: CfgNode) -> None:
    """Checks the keys of :obj:`cfg.peers`.

    Raises:
        ConfigError: Naming the key, what was given and what is allowed.
    """
    _check_group(cfg, 'peers')


def _check_group(cfg: CfgNode, group: str) -> None:
    for name, value in leaves(cfg[group], f'{group}.'):
        if (key := KEYS.get(name)) is not None:
            check_value(name, value, type(key.default))


def check_nc(cfg: CfgNode) -> None:
    """Checks the keys of :obj:`cfg.nc`.

    Raises:
        ConfigError: Naming the key, what was given and what is allowed.
    """
    _check_group(cfg, 'nc')
    try:
        check_source(cfg.nc.sbm_source, cfg.nc.sbm_graphs)
    except ValueError as error:
        raise ConfigError(str(error)) from None


def check_cfg(cfg: CfgNode) -> None:
    """Checks every key, and what several of them say together.

    Raises:
        ConfigError: Naming the key, what was given and what is allowed.
    """
    usual = defaults()
    for key, value in leaves(cfg):
        if key in KEYS:
            check_value(key, value, type(usual[key]))
        if key in IGNORED and value != usual[key]:
            logging.warning("'%s: %s' has no effect: nothing reads this key", key, value)
    check_nc(cfg)
    # Whether a classification is binary, and so has all of these metrics, only the data say.
    tasks = [task for task in _METRICS if task.startswith(cfg.dataset.task_type)]
    metrics = cfg.custom_metrics or [metric for task in tasks for metric in _METRICS[task]]
    check_choice('metric_best', cfg.metric_best, {'auto', 'loss', *metrics})
    if cfg.optim.scheduler == PLATEAU and cfg.optim.lr_decay == 1:
        raise ConfigError(f"'optim.lr_decay' is 1, but must be below with '{PLATEAU}'")
    if cfg.wandb.use and importlib.util.find_spec('wandb') is None:
        raise ConfigError(
            "'wandb.use' is True, but Weights & Biases is not installed: pip install wandb, or "
            "set 'wandb.use: False'"
        )


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


def check_choice(key: str, value: Any, choices: Collection[str]) -> None:
    """Checks a key that has a name for value.

    Raises:
        ConfigError: Naming the key, the choices and the nearest of them.
    """
    names = sorted(map(str, choices))
    if value in names:
        return
    hint = nearest(str(value), names, 0.4)
    raise ConfigError(f"'{key}' is {value!r}, but must be one of {', '.join(names)}.{hint}")


def nearest(name: str, known: Collection[str], cutoff: float) -> str:
    """What to ask somebody who may have misspelt a name."""
    near = difflib.get_close_matches(name, known, n=1, cutoff=cutoff)
    return f" Did you mean '{near[0]}'?" if near else ''
