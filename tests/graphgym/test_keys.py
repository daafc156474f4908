"""The table of keys: complete, checked, and the same as its reference page."""

from functools import reduce
from operator import getitem
from pathlib import Path

import pytest
from torch_geometric.graphgym.config import assert_cfg

from graphgym_nc.graphgym.config import merge
from graphgym_nc.graphgym.keys import IGNORED, KEYS, defaults, reference
from graphgym_nc.graphgym.validation import ConfigError, check_cfg

PAGE = Path(__file__).parents[2] / 'docs' / 'keys.md'

DEFAULTS = defaults()
FLOATS = {key for key, value in DEFAULTS.items() if type(value) is float}
FLAGS = {key for key, value in DEFAULTS.items() if type(value) is bool}
UNREAD = set(IGNORED)

# Numbers without an upper bound.
LARGE = {
    'bn.eps', 'nc.communicate_scale', 'nc.eps', 'optim.base_lr', 'optim.clip_grad_norm',
    'optim.weight_decay', *(FLOATS & UNREAD),
}  # fmt: skip
FREE_TEXT = {
    'cfg_dest', 'dataset.dir', 'dataset.format', 'dataset.name', 'out_dir',
    'wandb.project', *(key for key in UNREAD if type(DEFAULTS[key]) is str),
}  # fmt: skip
NUMBERS_UNREAD = {key for key in UNREAD if type(DEFAULTS[key]) in (int, float)}

# Each odd value, and the only keys for which it has a sense.
ODD = [
    (None, {'optim.scheduler'}),  # GraphGym registers one of this name
    (-1, {'nc.eps', *NUMBERS_UNREAD}),
    (-1.0, {'nc.eps', *(FLOATS & UNREAD)}),
    (float('nan'), set()),
    ('nan', FREE_TEXT),
    (float('inf'), set()),
    (-float('inf'), set()),
    (10**30, LARGE | NUMBERS_UNREAD),
    (10**400, {key for key in UNREAD if type(DEFAULTS[key]) is int}),
    ([1, 2], {'optim.steps', 'train.neighbor_sizes'}),
    (['relu', [None]], set()),
    ([float('nan'), 0.1], set()),
    ('word', FREE_TEXT),
    ('', {key for key in UNREAD if type(DEFAULTS[key]) is str}),
    ({}, set()),
    (True, FLAGS - {'wandb.use'}),  # not installed
]


def nested(key, value):
    for name in reversed(key.split('.')):
        value = {name: value}
    return value


def error_of(cfg, tree):
    try:
        merge(cfg, tree)
        assert_cfg(cfg)
        check_cfg(cfg)
    except ConfigError as error:
        return str(error)
    return None


@pytest.mark.parametrize(('value', 'sensible'), ODD, ids=[str(value)[:12] for value, _ in ODD])
def test_every_key_with_an_odd_value(cfg, monkeypatch, value, sensible):
    monkeypatch.setattr('importlib.util.find_spec', lambda name: None)
    accepted = set()
    for key in DEFAULTS:
        fresh = cfg.clone()
        error = error_of(fresh, nested(key, value))
        if error is None:
            accepted.add(key)
        else:
            assert f"'{key}'" in error
    assert accepted == sensible


@pytest.mark.parametrize('value', [None, -1, float('nan'), float('inf'), [1], 'word', {}, True])
def test_every_key_that_is_set_in_python(cfg, value):
    assert_cfg(cfg)
    for key, usual in DEFAULTS.items():
        fresh = cfg.clone()
        *groups, name = key.split('.')
        reduce(getitem, groups, fresh)[name] = value
        same = type(value) is type(usual) or (type(value), type(usual)) == (int, float)
        if same or (key, value) == ('optim.scheduler', None):
            continue  # what the test above has seen
        with pytest.raises(ConfigError, match=f"'{key}'"):
            check_cfg(fresh)


def test_the_table_has_all_keys():
    assert DEFAULTS.keys() == KEYS.keys()


def test_keys_of_another_plugin_are_not_checked(cfg):
    cfg = cfg.clone()  # nothing takes keys out of GraphGym's own again
    cfg.mine, cfg.yours = None, 0.5
    merge(cfg, {'mine': 7, 'yours': float('nan')})
    merge(cfg, {'yours': None})
    check_cfg(cfg)
    assert (cfg.mine, cfg.yours) == (7, None)


def test_the_reference_page_is_up_to_date():
    assert PAGE.read_text() == reference(), (
        'write docs/keys.md again, with what graphgym_nc.graphgym.keys.reference returns'
    )


def test_the_reference_says_what_a_key_may_be():
    row = "| `nc.init` | `'xavier'` | one of `xavier`, `torch` | Initial weights"
    assert row in reference()
