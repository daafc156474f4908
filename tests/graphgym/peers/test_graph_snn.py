import pytest
import torch
from torch_geometric.data import Batch
from torch_geometric.graphgym.utils.comp_budget import params_count

from graphgym_nc.graphgym.config import parse_opts
from graphgym_nc.graphgym.preparation import preparation
from graphgym_nc.graphgym.validation import ConfigError
from graphgym_nc.structures.structural_coefficients import structural_coefficients
from tests.graphgym.test_layer import graph, kinds, model_of, step

LAYERS = ('graph_snnconv', 'graph_snneconv')


def batch_of(number=3):
    batch = Batch.from_data_list([graph(seed=i) for i in range(number)])
    batch.edge_attr = torch.randn(batch.num_edges, 2)
    return batch


@pytest.mark.parametrize('layer_type', LAYERS)
@pytest.mark.parametrize('stage_type', ['stack', 'skipsum', 'jkconcat', 'ogbsum'])
@pytest.mark.parametrize('task', ['node', 'graph'])
def test_stages_and_tasks(cfg, layer_type, stage_type, task):
    cfg.dataset.edge_dim, cfg.gnn.head, cfg.gnn.dropout = 2, task, 0.5
    batch = batch_of()
    if task == 'graph':
        batch.y = torch.tensor([0, 1, 2])
    model = model_of(cfg, layer_type, stage_type=stage_type, layers_pre_mp=1, layers_mp=3)
    out = step(model, batch)
    number = 3 if task == 'graph' else int(batch.train_mask.sum())
    assert out['pred_score'].shape == (number, 3)


@pytest.mark.parametrize('layer_type', LAYERS)
@pytest.mark.parametrize('power', [1.0, 2.0])
def test_found_before_or_by_the_first_layer(cfg, layer_type, power):
    cfg.dataset.edge_dim = 2
    cfg.peers.graph_snn.power = power
    model = model_of(cfg, layer_type).eval()
    batch = batch_of()
    prepared = preparation()(batch.clone())
    expected = structural_coefficients(batch.edge_index, batch.num_nodes, power)
    assert torch.equal(prepared.edge_coefficient, expected.float())
    assert 'edge_coefficient' not in batch
    found = batch.clone()
    cfg.peers.graph_snn.power = 3.0  # of another network, made after this one
    assert torch.equal(model(prepared)[0], model(found)[0])
    assert torch.equal(found.edge_coefficient, prepared.edge_coefficient)


def test_the_mlps_are_those_of_the_authors(cfg):
    cfg.peers.graph_snn.mlp_dropout, cfg.peers.graph_snn.dropout = 0.6, 0.5
    layer = model_of(cfg, dim_inner=16, layer_type='graph_snnconv').mp.layer1
    half = 'Linear-Dropout-ReLU-BatchNorm1d'
    assert kinds(layer.layer.model.nn) == f'{half}-{half}-Linear-Dropout'
    rates = [m.p for m in layer.layer.model.nn if isinstance(m, torch.nn.Dropout)]
    assert rates == [0.6, 0.6, 0.5]
    assert params_count(layer.layer) == 3 * (16 * 16 + 16) + 2 * 2 * 16 + 1
    cfg.dataset.edge_encoder = True
    layer = model_of(cfg, dim_inner=16, layer_type='graph_snneconv').mp.layer1
    assert kinds(layer.layer.model.nn) == 'Linear-BatchNorm1d-ReLU-Linear'
    assert params_count(layer.layer) == 2 * (16 * 16 + 16) + 2 * 16 + 1


def test_dropout_in_training_only(cfg):
    cfg.peers.graph_snn.mlp_dropout, cfg.peers.graph_snn.dropout = 0.6, 0.5
    model, batch = model_of(cfg, 'graph_snnconv'), batch_of()
    assert not torch.equal(model(batch.clone())[0], model(batch.clone())[0])
    model.eval()
    assert torch.equal(model(batch.clone())[0], model(batch.clone())[0])


def test_the_sum_of_all_layers(cfg):
    cfg.dataset.edge_dim = 2
    model = model_of(cfg, 'graph_snneconv', stage_type='ogbsum', layers_pre_mp=1, layers_mp=2)
    batch = batch_of()
    model.eval()
    start = model.model.pre_mp(model.model.encoder(batch.clone()))
    total = start.x
    for layer in model.mp.layers:
        start = layer(start)
        total = total + start.x
    staged = model.mp(model.model.pre_mp(model.model.encoder(batch.clone())))
    torch.testing.assert_close(staged.x, total)
    assert (start.x < 0).any()  # no activation after the last


@pytest.mark.parametrize(
    ('key', 'value'), [('power', '-1'), ('mlp_dropout', '1.0'), ('dropout', 'much')]
)
def test_keys(cfg, key, value):
    with pytest.raises(ConfigError, match=f"'peers.graph_snn.{key}' is"):
        parse_opts([f'peers.graph_snn.{key}', value], cfg)
