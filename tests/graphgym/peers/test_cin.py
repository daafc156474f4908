import pytest
import torch
from torch_geometric.data import Batch, Data
from torch_geometric.graphgym.config import assert_cfg
from torch_geometric.graphgym.model_builder import create_model

from graphgym_nc.graphgym.preparation import preparation
from graphgym_nc.graphgym.validation import ConfigError
from graphgym_nc.structures.cells import Cells
from tests.reference import dense_graph


def network(cfg, name='cin', task='graph', layers=2):
    cfg.model.type, cfg.share.dim_in, cfg.model.graph_pooling = name, 3, 'mean'
    cfg.dataset.task, cfg.dataset.task_type = task, 'classification_multi'
    cfg.gnn.update(layers_mp=layers, layers_post_mp=1, dim_inner=8)
    assert_cfg(cfg)
    return create_model(dim_in=3, dim_out=4).model.eval()


def two_graphs(task='graph'):
    sizes = {'graph': (1, 1), 'node': (6, 9)}[task]
    graphs = [
        Data(
            x=torch.randn(n, 3), edge_index=dense_graph(n, seed=n), y=torch.arange(size),
            edge_attr=torch.randn(dense_graph(n, seed=n).size(1), 2),
        )
        for n, size in zip((6, 9), sizes, strict=True)
    ]  # fmt: skip
    return Batch.from_data_list(graphs)


@pytest.mark.parametrize('name', ['sin', 'cin'])
@pytest.mark.parametrize('task', ['graph', 'node'])
def test_scores(cfg, name, task):
    model, batch = network(cfg, name, task), two_graphs(task)
    prepared = preparation()(batch.clone())
    assert str(preparation()) == f'AddCells(max_ring={3 if name == "sin" else 6})'
    score, true = model(prepared.clone())
    assert torch.equal(true, batch.y)
    pooled = {} if task == 'node' else {'batch': batch.batch, 'batch_size': 2}
    torch.testing.assert_close(score, model.model(batch.x, Cells.of(prepared), **pooled))
    torch.testing.assert_close(model(batch)[0], score)  # it finds cells that it is not given


def test_scores_of_a_split(cfg):
    model, batch = network(cfg, task='node'), two_graphs('node')
    whole, _ = model(batch.clone())
    batch.split, batch.train_mask = 'train', torch.arange(15) % 3 == 0
    score, true = model(batch)
    torch.testing.assert_close(score, whole[::3])
    assert torch.equal(true, batch.y[::3])


@pytest.mark.parametrize('encoder', [False, True])
def test_edge_features(cfg, encoder):
    cfg.peers.cin.edge_features, cfg.dataset.edge_dim = True, 2
    cfg.dataset.edge_encoder, cfg.dataset.edge_encoder_bn = encoder, False
    model, batch = network(cfg), two_graphs()
    assert model.model.edge_lin.weight.shape == (3, 8 if encoder else 2)
    if encoder:
        batch.edge_attr = torch.zeros(batch.num_edges, 3, dtype=torch.long)
    score, _ = model(batch.clone())
    batch.edge_attr += 1
    assert not torch.allclose(model(batch.clone())[0], score)


def test_edge_features_that_are_not_there(cfg):
    cfg.peers.cin.edge_features, cfg.dataset.edge_dim = True, 2
    model, batch = network(cfg), two_graphs()
    batch.edge_attr = None
    with pytest.raises(ConfigError, match=r"'peers\.cin\.edge_features' is True, but"):
        model(batch)


def test_settings(cfg):
    cfg.peers.cin.update(init='mean', coboundaries=False)
    cfg.gnn.batchnorm, cfg.gnn.act, cfg.gnn.dropout = False, 'elu', 0.5
    model = network(cfg).model
    assert (model.init, model.pool.__class__.__name__) == ('mean', 'MeanAggregation')
    assert model.dropout == 0.5
    conv = model.convs[0]
    assert not conv.coboundaries
    assert not [m for m in conv.modules() if isinstance(m, torch.nn.BatchNorm1d)]
    assert isinstance(conv.up_nns[0].act, torch.nn.ELU)


def test_what_makes_no_sense(cfg):
    with pytest.raises(ConfigError, match=r"'dataset\.task' is 'edge', but 'model\.type: cin'"):
        network(cfg, task='edge')
    with pytest.raises(ConfigError, match=r"'gnn\.layers_mp' is 0, but 'model\.type: cin' needs"):
        network(cfg, layers=0)
    cfg.peers.cin.coboundaries = False
    with pytest.raises(ConfigError, match=r"'peers\.cin\.coboundaries' is False, but 'data"):
        network(cfg, task='node')
    cfg.peers.cin.max_ring = 2
    with pytest.raises(ConfigError, match=r"'peers\.cin\.max_ring' is 2"):
        network(cfg)
