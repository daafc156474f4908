"""Adds the plugin's keys to GraphGym's, and sets keys from files and command lines."""

import copy
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from torch_geometric.graphgym import register
from torch_geometric.graphgym.config import cfg as global_cfg
from yacs.config import CfgNode

from graphgym_nc.graphgym.keys import KEYS, leaves
from graphgym_nc.graphgym.register import register_once
from graphgym_nc.graphgym.validation import ConfigError, check_type, check_value, nearest
from graphgym_nc.results.names import literal

_NOTHING = object()


@register_once(register.config_dict, 'nc')
def set_cfg_nc(cfg: CfgNode) -> None:
    """Adds the plugin's keys, with their defaults, to GraphGym's."""
    for key in KEYS.values():
        if key.default is not None:
            *groups, name = key.name.split('.')
            node = cfg
            for group in groups:
                node = node.setdefault(group, CfgNode())
            node[name] = copy.copy(key.default)


# GraphGym has built its configuration before any plugin could register
# (`set_cfg` at the end of torch_geometric/graphgym/config.py).
if 'nc' not in global_cfg:
    set_cfg_nc(global_cfg)


def merge(cfg: CfgNode, tree: dict[str, Any], prefix: str = '') -> None:
    """Sets keys that are given as a nested dictionary.

    Raises:
        ConfigError: If there is no such key, or it must not have such a value.
    """
    for name, value in tree.items():
        key = f'{prefix}{name}'
        if '.' in str(name):  # beside the same key in a group, the later of both would count
            raise ConfigError(
                f"'{name}' has a dot: write a group of keys, as in 'gnn: {{act: relu}}'"
            )
        # An empty mapping is a group without keys, but no value of a key.
        if isinstance(value, dict) and (value or isinstance(_node(cfg, key), CfgNode)):
            merge(cfg, value, f'{key}.')
        else:
            set_value(cfg, key, typed(cfg, key, value))


def set_value(cfg: CfgNode, key: str, value: Any) -> None:
    """Sets a key by its full name."""
    group, _, last = key.rpartition('.')
    _node(cfg, group)[last] = value


def parse_opts(opts: Sequence[str], cfg: CfgNode) -> dict[str, Any]:
    """The keys and values of a command line, by full name.

    Raises:
        ConfigError: If there is no such key, or it must not have such a value.
    """
    if len(opts) % 2:
        raise ConfigError(f"'{opts[-1]}' has no value: options are KEY VALUE pairs")
    return {
        key: typed(cfg, key, _literal(cfg, key, text))
        for key, text in zip(opts[::2], opts[1::2], strict=True)
    }


def _literal(cfg: CfgNode, key: str, text: str) -> Any:
    """What a text stands for: a number is none where the key is for text, such as a name."""
    value = literal(text)
    return text if type(value) in (int, float) and isinstance(_node(cfg, key), str) else value


def typed(cfg: CfgNode, key: str, value: Any) -> Any:
    """A value as a key wants it: yacs would refuse an integer for a floating
    point number, and YAML takes 1e-3, without a point, for text.

    Raises:
        ConfigError: If there is no such key, or it must not have such a value.
    """
    known = _node(cfg, key)
    if known is _NOTHING:
        raise ConfigError(_unknown(cfg, key))
    if isinstance(known, CfgNode):
        raise ConfigError(f"'{key}' is a group of keys, not one")
    if isinstance(known, float) and type(value) in (int, str):
        with suppress(ValueError, OverflowError):
            value = float(value)
    if key in KEYS:
        check_value(key, value, type(known))
    elif value is not None and known is not None:  # another plugin's
        check_type(key, value, type(known))
    return value


def _node(cfg: CfgNode, key: str) -> Any:
    """The group or the value that a key names, if any."""
    node: Any = cfg
    for part in key.split('.') if key else ():
        node = node.get(part, _NOTHING) if isinstance(node, CfgNode) else _NOTHING
    return node


def _unknown(cfg: CfgNode, key: str) -> str:
    known = [name for name, _ in leaves(cfg)]
    hint = nearest(key, known, 0.6)
    if not hint:  # the right key in a wrong group, such as train.max_epoch
        last = key.rpartition('.')[2]
        same = [name for name in known if name.rpartition('.')[2] == last]
        hint = f" Did you mean '{same[0]}'?" if same else ''
    return f"'{key}' is no configuration key.{hint}"
