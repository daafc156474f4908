import pytest

from graphgym_nc.graphgym.config import merge, parse_opts, typed
from graphgym_nc.graphgym.validation import ConfigError


def test_merge(cfg):
    merge(
        cfg,
        {'seed': 3, 'optim': {'base_lr': 1, 'weight_decay': '1e-3'}, 'nc': {'sbm_graphs': []}},
    )
    assert (cfg.seed, cfg.optim.base_lr, cfg.optim.weight_decay) == (3, 1.0, 0.001)
    assert type(cfg.optim.base_lr) is float  # GraphGym refuses `base_lr: 1`
    assert cfg.nc.sbm_graphs == []


@pytest.mark.parametrize('tree', [{'gnn.act': 'elu'}, {'gnn': {'act.x': 'elu'}}])
def test_keys_of_a_file_are_in_groups(cfg, tree):
    with pytest.raises(ConfigError, match='has a dot: write a group of keys'):
        merge(cfg, tree)


def test_parse_opts(cfg):
    opts = ['optim.base_lr', '1', 'gnn.layer_type', 'ncgnnconv', 'dataset.split', '[0.5, 0.5]']
    assert parse_opts(opts, cfg) == {
        'optim.base_lr': 1.0,
        'gnn.layer_type': 'ncgnnconv',
        'dataset.split': [0.5, 0.5],
    }
    with pytest.raises(ConfigError, match=r"'gnn.act' has no value"):
        parse_opts(['gnn.act'], cfg)


@pytest.mark.parametrize('text', ['2024', '1e3', '0x10', '007', "'2024'"])
def test_a_key_for_text_takes_the_text(cfg, text):
    assert parse_opts(['out_dir', text, 'seed', '3'], cfg) == {
        'out_dir': text.strip("'"),
        'seed': 3,
    }


@pytest.mark.parametrize(
    ('key', 'value', 'message'),
    [
        ('gnn.dim_iner', 8, "no configuration key. Did you mean 'gnn.dim_inner'"),
        ('train.max_epoch', 8, 'no configuration key. Did you mean'),
        ('gnn.dim_inner', 'wide', "'wide' .str., but must be of type int"),
        ('gnn.dim_inner', 1.5, 'must be of type int'),
        ('gnn.batchnorm', 1, 'must be of type bool'),
        ('gnn', 1, 'is a group of keys'),
    ],
)
def test_bad_keys_and_values(cfg, key, value, message):
    with pytest.raises(ConfigError, match=message):
        typed(cfg, key, value)


def test_text_is_never_executed(cfg, tmp_path):
    trap = tmp_path / 'trap'
    text = f"__import__('pathlib').Path({str(trap)!r}).touch()"
    assert parse_opts(['out_dir', text], cfg) == {'out_dir': text}
    assert not trap.exists()
