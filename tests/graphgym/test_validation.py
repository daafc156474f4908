import pytest
from torch_geometric.graphgym.config import assert_cfg
from torch_geometric.graphgym.config import cfg as global_cfg
from torch_geometric.graphgym.model_builder import create_model
from yacs.config import CfgNode

from graphgym_nc.graphgym.config import set_cfg_nc
from graphgym_nc.graphgym.validation import ConfigError, best_metric, check_cfg


def test_defaults_are_valid(cfg):
    assert_cfg(cfg)
    check_cfg(cfg)


def test_keys_are_there_after_the_import_alone():
    assert 'nc' in global_cfg
    fresh = CfgNode()
    set_cfg_nc(fresh)
    assert fresh.nc.train_eps is True


@pytest.mark.parametrize(
    ('key', 'value', 'message'),
    [
        ('mlp_layers', 0, "'nc.mlp_layers' is 0, but must be an integer from 1"),
        ('communicate_aggr', 'sum', "'nc.communicate_aggr' is 'sum', but must be one of"),
        ('communicate_aggr', 'sqr', "add, learned, mean, power, sqrt. Did you mean 'sqrt'"),
        ('communicate_power', 1.5, "'nc.communicate_power' is 1.5, but must be a number from 0"),
        ('mlp2_layers', -1, "'nc.mlp2_layers' is -1, but must be an integer from 0"),
        ('communicate_scale', 0.0, "'nc.communicate_scale' is 0.0, but must be a number above 0"),
        ('eps', float('nan'), "'nc.eps' is nan, but must be a finite number"),
        (
            'sbm_source',
            'ofical',
            "auto, generated, official. Did you mean 'official'",
        ),
        ('sbm_graphs', [10], r"'nc.sbm_graphs' is \[10\], but must be \[\] or three positive"),
        ('sbm_graphs', [10, 0, 1], 'three positive'),
        ('sbm_seed', -1, "'nc.sbm_seed' is -1"),
        ('download_timeout', 0.0, "'nc.download_timeout' is 0.0"),
        ('counting_graphs', 5, "'nc.counting_graphs' is 5, but must be an integer from 10"),
        ('counting_seed', -1, "'nc.counting_seed' is -1"),
    ],
)
def test_bad_values_of_the_plugin(cfg, key, value, message):
    cfg.nc[key] = value
    with pytest.raises(ConfigError, match=message):
        check_cfg(cfg)


def test_official_graphs_of_another_size(cfg):
    cfg.nc.sbm_source, cfg.nc.sbm_graphs = 'official', [8, 4, 4]
    with pytest.raises(ConfigError, match=r"'nc.sbm_graphs' is \[8, 4, 4\].*come in one size"):
        check_cfg(cfg)


@pytest.mark.parametrize(
    ('group', 'key', 'value', 'message'),
    [
        ('gnn', 'layer_type', 'ncgnconv', r"one of .*ncgnnconv.*Did you mean 'ncgnnconv'"),
        ('gnn', 'stage_type', 'jkcat', "Did you mean 'jkconcat'"),
        ('gnn', 'act', 'rellu', "Did you mean 'relu'"),
        ('gnn', 'head', 'inductive', "Did you mean 'inductive_node'"),
        ('model', 'type', 'gmn', "'model.type' is 'gmn'.*Did you mean 'gnn'"),
        ('model', 'graph_pooling', 'sum', "'model.graph_pooling' is 'sum'"),
        ('optim', 'scheduler', 'cosine', "Did you mean 'cos"),
        ('optim', 'optimizer', 'adan', "Did you mean 'adam'"),
        ('model', 'loss_fun', 'weighted_cross_entrpy', "Did you mean 'weighted_cross_entropy'"),
        ('train', 'sampler', 'full', "Did you mean 'full_batch'"),
        ('train', 'batch_size', 0, "'train.batch_size' is 0"),
        ('gnn', 'dropout', 2.0, "'gnn.dropout' is 2.0, but must be a number from 0, below 1"),
        ('gnn', 'layers_mp', -1, "'gnn.layers_mp' is -1"),
        ('dataset', 'transform', 'AddTriangle', "Did you mean 'AddTriangles'"),
        ('dataset', 'split', [0.8, 0.3], 'shares that add up to at most 1'),
        ('dataset', 'split_mode', 'cv', 'cv-stratified-<folds>'),
        ('optim', 'base_lr', -0.1, "'optim.base_lr' is -0.1"),
        ('optim', 'batch_accumulation', 0, "'optim.batch_accumulation' is 0"),
        ('optim', 'max_epoch', 0, "'optim.max_epoch' is 0"),
        ('train', 'eval_period', 0, "'train.eval_period' is 0"),
    ],
)
def test_bad_values_of_graphgym(cfg, group, key, value, message):
    assert_cfg(cfg)
    cfg[group][key] = value
    with pytest.raises(ConfigError, match=message):
        check_cfg(cfg)


def test_unknown_encoder_and_metric(cfg):
    assert_cfg(cfg)
    cfg.dataset.node_encoder, cfg.dataset.node_encoder_name = True, 'LinearNodes'
    with pytest.raises(ConfigError, match=r"node_encoder_name'.*mean 'LinearNode'"):
        check_cfg(cfg)
    cfg.dataset.node_encoder, cfg.custom_metrics = False, ['accuracy_sbn']
    with pytest.raises(ConfigError, match=r"'custom_metrics'.*Did you mean 'accuracy_sbm'"):
        check_cfg(cfg)


def test_stock_graphgym_is_told_too(cfg):
    assert_cfg(cfg)
    cfg.gnn.layer_type, cfg.nc.mlp_layers = 'ncgnnconv', -3
    with pytest.raises(ConfigError, match=r"'nc.mlp_layers' is -3"):
        create_model(to_device=False, dim_in=3, dim_out=2)


def test_keys_that_nothing_reads_are_named(cfg, caplog):
    assert_cfg(cfg)
    check_cfg(cfg)
    assert 'has no effect' not in caplog.text
    cfg.gnn.att_heads, cfg.view_emb, cfg.nc.triangle_store_mb = 4, True, 0
    check_cfg(cfg)
    assert "'gnn.att_heads: 4' has no effect" in caplog.text
    assert "'view_emb: True' has no effect" in caplog.text
    assert "'nc.triangle_store_mb: 0' has no effect" in caplog.text


@pytest.mark.parametrize(
    ('task_type', 'custom', 'metric', 'message'),
    [
        ('classification', [], 'acuracy', "Did you mean 'accuracy'"),
        ('classification_multi', [], 'auc', 'must be one of accuracy, auto, loss'),
        ('regression', [], 'accuracy', 'must be one of auto, loss, mae, mse, rmse'),
        ('classification', ['accuracy_sbm'], 'accuracy', 'one of accuracy_sbm, auto, loss'),
    ],
)
def test_metric_that_no_such_run_has(cfg, task_type, custom, metric, message):
    cfg.dataset.task_type, cfg.custom_metrics, cfg.metric_best = task_type, custom, 'auto'
    check_cfg(cfg)
    cfg.metric_best = metric
    with pytest.raises(ConfigError, match=f"'metric_best' is '{metric}'.*{message}"):
        check_cfg(cfg)
    cfg.metric_best = 'loss'
    check_cfg(cfg)


def test_metric_that_the_run_will_not_have(cfg):
    cfg.dataset.task_type = 'regression'
    assert best_metric(cfg) == ('mae', True)
    cfg.metric_best = 'accuracy'
    with pytest.raises(ConfigError, match=r"'metric_best' is .* one of loss, mae"):
        best_metric(cfg)
    cfg.custom_metrics, cfg.metric_best = ['accuracy_sbm'], 'auto'
    assert best_metric(cfg) == ('accuracy_sbm', False)
    cfg.metric_agg = 'argmin'
    assert best_metric(cfg) == ('accuracy_sbm', True)


@pytest.mark.parametrize(
    ('key', 'value'), [('devices', 0), ('devices', 'auto'), ('num_nodes', 0), ('strategy', 'fsdp')]
)
def test_devices_that_cannot_be(cfg, key, value):
    assert_cfg(cfg)
    cfg[key] = value
    with pytest.raises(ConfigError, match=f"'{key}' is {value!r}"):
        check_cfg(cfg)
