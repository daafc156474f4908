"""The plugin's configuration keys, and a check of all that are given."""

import difflib
import math
from collections.abc import Iterable
from typing import Any

from torch_geometric.graphgym import register
from torch_geometric.graphgym.config import cfg as global_cfg
from yacs.config import CfgNode

from graphgym_nc.registry import register_once

SBM_SOURCES = ('auto', 'official', 'generated')


@register_once(register.config_dict, 'nc')
def set_cfg_nc(cfg: CfgNode) -> None:
    """Adds the plugin's keys, with their defaults, to GraphGym's."""
    cfg.nc = CfgNode()

    # ----------------------------------------------------------------------- #
    # Layers: ncgnnconv, ncgnneconv, and their baselines nc_ginconv, nc_gineconv
    # ----------------------------------------------------------------------- #

    # Number of Linear layers in MLP1, and in MLP2
    cfg.nc.mlp_layers = 2

    # BatchNorm after the Linear layers of MLP1 and MLP2 (the paper: True).
    # Leave it off where all nodes have the same features: the messages of the
    # first layer are then equal, and cannot be normalised
    cfg.nc.mlp_batchnorm = False

    # BatchNorm (if any) and activation also after the last Linear layer of
    # MLP1 and MLP2 (the paper: True)
    cfg.nc.mlp_final_act = False

    # Initial scale of MLP2: the weight of its last BatchNorm or, without, of its
    # last Linear layer. Below 1, the sum over the edges among neighbours, with
    # its many terms, does not drown all else at first (the paper: 1.0)
    cfg.nc.communicate_scale = 1.0

    # Initial value of epsilon
    cfg.nc.eps = 0.0

    # Whether epsilon is learned
    cfg.nc.train_eps = True

    # ----------------------------------------------------------------------- #
    # Data: PATTERN and CLUSTER
    # ----------------------------------------------------------------------- #

    # 'official': the published graphs, from disk or the network
    # 'generated': graphs drawn by the published recipe
    # 'auto': the official ones if they are on disk or can be had, else drawn
    cfg.nc.sbm_source = 'auto'

    # Number of training, validation and test graphs to draw; [] is the
    # published number. Only for generated graphs
    cfg.nc.sbm_graphs = []

    # Seed of the generated graphs (apart from cfg.seed: all runs see the same)
    cfg.nc.sbm_seed = 0

    # Seconds to wait for a data server that does not answer
    cfg.nc.download_timeout = 5.0

    # ----------------------------------------------------------------------- #
    # Data: counting triangles
    # ----------------------------------------------------------------------- #

    # Number of random graphs, and their seed
    cfg.nc.counting_graphs = 5000
    cfg.nc.counting_seed = 0


# GraphGym has built its configuration before any plugin could register
# (`set_cfg` at the end of torch_geometric/graphgym/config.py).
if 'nc' not in global_cfg:
    set_cfg_nc(global_cfg)


class ConfigError(ValueError):
    """A configuration that cannot be run."""


def check_nc(cfg: CfgNode) -> None:
    """Checks the keys of :obj:`cfg.nc`.

    Raises:
        ConfigError: Naming the key, what was given and what is allowed.
    """
    nc = cfg.nc
    _check(nc.mlp_layers >= 1, 'nc.mlp_layers', nc.mlp_layers, 'an integer from 1')
    scale = nc.communicate_scale
    _check(math.isfinite(scale) and scale > 0, 'nc.communicate_scale', scale, 'a positive number')
    _check(math.isfinite(nc.eps), 'nc.eps', nc.eps, 'a finite number')
    _check_choice('nc.sbm_source', nc.sbm_source, SBM_SOURCES)
    sizes = nc.sbm_graphs
    valid = len(sizes) in (0, 3) and all(isinstance(n, int) and n >= 1 for n in sizes)
    _check(valid, 'nc.sbm_graphs', sizes, '[] or three positive integers: [train, val, test]')
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
    _check_choice('print', cfg.print, ('stdout', 'file', 'both'))
    _check_choice('model.type', cfg.model.type, register.network_dict)
    _check_choice('gnn.layer_type', cfg.gnn.layer_type, register.layer_dict)
    _check_choice('gnn.stage_type', cfg.gnn.stage_type, register.stage_dict)
    _check_choice('gnn.head', cfg.gnn.head, register.head_dict)
    _check_choice('gnn.act', cfg.gnn.act, register.act_dict)
    _check_choice('model.graph_pooling', cfg.model.graph_pooling, register.pooling_dict)
    _check_choice('optim.optimizer', cfg.optim.optimizer, register.optimizer_dict)
    _check_choice('optim.scheduler', cfg.optim.scheduler, register.scheduler_dict)
    for metric in cfg.custom_metrics:
        _check_choice('custom_metrics', metric, register.metric_dict)
    for kind in ('node', 'edge'):
        if cfg.dataset[f'{kind}_encoder']:
            key = f'{kind}_encoder_name'
            known = getattr(register, f'{kind}_encoder_dict')
            _check_choice(f'dataset.{key}', cfg.dataset[key], known)
    _check(cfg.optim.max_epoch >= 1, 'optim.max_epoch', cfg.optim.max_epoch, 'an integer from 1')
    period = cfg.train.eval_period
    _check(period >= 1, 'train.eval_period', period, 'an integer from 1')


def _check(valid: bool, key: str, value: Any, allowed: str) -> None:
    if not valid:
        raise ConfigError(f"'{key}' is {value!r}, but must be {allowed}")


def _check_choice(key: str, value: Any, choices: Iterable[Any]) -> None:
    names = sorted(str(choice) for choice in choices)
    if value in choices:
        return
    near = difflib.get_close_matches(str(value), names, n=1, cutoff=0.4)
    hint = f" Did you mean '{near[0]}'?" if near else ''
    raise ConfigError(f"'{key}' is {value!r}, but must be one of {', '.join(names)}.{hint}")
