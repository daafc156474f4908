"""Tells in which keys two configurations differ."""

from collections.abc import Mapping
from typing import Any

# Keys that say where and how a run is done, not what it is.
_INCIDENTAL = frozenset(
    {
        'accelerator', 'cfg_dest', 'dataset.dir', 'dataset.edge_dim', 'devices', 'nc.kernel',
        'nc.triangle_store_mb', 'num_nodes', 'num_threads', 'num_workers', 'out_dir', 'params',
        'print', 'run_dir', 'seed', 'strategy', 'tensorboard_agg', 'tensorboard_each_run',
        'train.auto_resume', 'train.ckpt_clean', 'train.ckpt_period', 'wandb.mode',
        'wandb.project', 'wandb.use',
    }
)  # fmt: skip


def differing(
    before: dict[str, Any], now: dict[str, Any], defaults: Mapping[str, Any] | None = None
) -> dict[str, tuple[Any, Any]]:
    """The keys in which two configurations (nested dictionaries) differ in
    substance, with both values.

    Args:
        before: A configuration.
        now: Another.
        defaults: What keys are, by full names, where they are missing: as those are
            that are newer than a configuration.
    """
    old, new = {**(defaults or {}), **flat(before)}, {**(defaults or {}), **flat(now)}
    return {
        key: (old.get(key), new.get(key))
        for key in sorted(old.keys() | new.keys())
        if old.get(key) != new.get(key)
        and key not in _INCIDENTAL
        and not key.startswith('share.')  # set by the data
    }


def flat(tree: dict[str, Any], prefix: str = '') -> dict[str, Any]:
    """The keys of a nested dictionary by their full names, such as
    :obj:`gnn.dim_inner`.
    """
    keys: dict[str, Any] = {}
    for key, value in tree.items():
        if isinstance(value, dict):
            keys.update(flat(value, f'{prefix}{key}.'))
        else:
            keys[f'{prefix}{key}'] = value
    return keys
