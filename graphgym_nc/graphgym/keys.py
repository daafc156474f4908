"""Sets configuration keys from files and command lines."""

import difflib
from ast import literal_eval
from collections.abc import Iterator, Sequence
from typing import Any

from yacs.config import CfgNode

from graphgym_nc.graphgym.validation import ConfigError
from graphgym_nc.results.differences import flat


def merge(cfg: CfgNode, tree: dict[str, Any]) -> None:
    """Sets keys that are given as a nested dictionary.

    Raises:
        ConfigError: If a key does not exist, or a value is of another type.
    """
    for key, value in flat(tree).items():
        group, _, name = key.rpartition('.')
        checked = typed(cfg, key, value)
        (cfg[group] if group else cfg)[name] = checked


def parse_opts(opts: Sequence[str], cfg: CfgNode) -> dict[str, Any]:
    """The keys and values of a command line, by full name.

    Raises:
        ConfigError: If a key does not exist, or a value is of another type.
    """
    if len(opts) % 2:
        raise ConfigError(f"'{opts[-1]}' has no value: options are KEY VALUE pairs")
    return {
        key: typed(cfg, key, _value(text)) for key, text in zip(opts[::2], opts[1::2], strict=True)
    }


def typed(cfg: CfgNode, key: str, value: Any) -> Any:
    """A value of the type that a key asks for: an integer may stand for a
    floating point number, which yacs would refuse.

    Raises:
        ConfigError: If the key does not exist, or the value is of another type.
    """
    node = cfg
    for part in key.split('.'):
        if not isinstance(node, CfgNode) or part not in node:
            raise ConfigError(_unknown(cfg, key))
        node = node[part]
    if isinstance(node, CfgNode):
        raise ConfigError(f"'{key}' is a group of keys, not one")
    if isinstance(node, float) and type(value) is int:
        return float(value)
    if isinstance(node, float) and isinstance(value, str):
        try:  # YAML takes 1e-3, without a point, for text
            return float(value)
        except ValueError:
            pass
    if node is not None and value is not None and type(value) is not type(node):
        kind, given = type(node).__name__, type(value).__name__
        raise ConfigError(f"'{key}' is {value!r} ({given}), but must be of type {kind}")
    return value


def _value(text: str) -> Any:
    try:
        return literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def _unknown(cfg: CfgNode, key: str) -> str:
    known = list(_keys(cfg))
    near = difflib.get_close_matches(key, known, n=1, cutoff=0.6)
    # The right key in a wrong group, such as train.max_epoch.
    _, _, last = key.rpartition('.')
    near = near or [name for name in known if name.rpartition('.')[2] == last]
    hint = f" Did you mean '{near[0]}'?" if near else ''
    return f"'{key}' is no configuration key.{hint}"


def _keys(node: CfgNode, prefix: str = '') -> Iterator[str]:
    for key, value in node.items():
        if isinstance(value, CfgNode):
            yield from _keys(value, f'{prefix}{key}.')
        else:
            yield prefix + key
