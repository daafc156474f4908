import pytest
import torch
from torch_geometric.data import Batch, Data
from torch_geometric.graphgym import register
from torch_geometric.graphgym.config import assert_cfg
from torch_geometric.graphgym.model_builder import create_model

from graphgym_nc.graphgym.preparation import preparation
from graphgym_nc.graphgym.validation import ConfigError
from tests.reference import dense_graph


def network(cfg, task='graph', labels='spd', layer_type='nc_ginconv', dim_out=4):
    cfg.model.type, cfg.share.dim_in, cfg.model.graph_pooling = 'nested_gin', 3, 'mean'
    cfg.dataset.task, cfg.dataset.task_type = task, 'classification_multi'
    cfg.gnn.update(
        layer_type=layer_type, layers_mp=3, layers_post_mp=2, dim_inner=8, dropout=0.5,
        batchnorm=False, l2norm=False,
    )  # fmt: skip
    cfg.nc.mlp_batchnorm = cfg.nc.mlp_final_act = True
    cfg.peers.nested_gin.update(hops=2, labels=labels)
    assert_cfg(cfg)
    return create_model(dim_in=3, dim_out=dim_out).eval()


def batch_of(task='graph', prepared=True):
    graphs = [
        Data(
            x=torch.randn(n, 3),
            edge_index=dense_graph(n, 0.4, seed=n),
            y=torch.arange(n) % 4 if task == 'node' else torch.tensor([n % 4]),
        )
        for n in (5, 7)
    ]
    batch = Batch.from_data_list(graphs)
    return preparation()(batch) if prepared else batch


def test_parameters(cfg):
    model = network(cfg)
    first = 11 * 8 + 8 + 8 * 8 + 8 + 4 * 8 + 1  # 3 features, and labels of width 8
    others = 2 * (2 * (8 * 8 + 8) + 4 * 8 + 1)
    head = 24 * 8 + 8 + 8 * 4 + 4
    labels = 5 * 8  # of distance up to 3 and one more, from 1, and none
    assert sum(p.numel() for p in model.parameters()) == first + others + head + labels


@pytest.mark.parametrize('layer_type', ['nc_ginconv', 'ncgnnconv', 'gcnconv'])
def test_graphs(cfg, layer_type):
    model = network(cfg, layer_type=layer_type)
    graphs = batch_of(prepared=False).to_data_list()
    alone = torch.cat([model(preparation()(Batch.from_data_list([one])))[0] for one in graphs])
    scores, true = model(preparation()(Batch.from_data_list(graphs)))
    assert torch.equal(true, torch.tensor([1, 3]))
    torch.testing.assert_close(scores, alone)


def test_nodes_with_and_without_masks(cfg):
    model = network(cfg, 'node')
    batch = batch_of('node')
    scores, true = model(batch.clone())
    assert scores.shape == (12, 4)
    assert torch.equal(true, batch.y)
    batch.split, batch.train_mask = 'train', torch.arange(12) < 3
    torch.testing.assert_close(model(batch)[0], scores[:3])


def test_edges_are_not_for_it(cfg):
    with pytest.raises(
        ConfigError, match=r"'dataset.task' is 'edge', but 'model.type: nested_gin'"
    ):
        network(cfg, 'edge')


def test_layers_that_need_more_than_edges(cfg):
    with pytest.raises(ConfigError, match=r"'gnn.layer_type: gin_akconv' needs to know more"):
        network(cfg, layer_type='gin_akconv')


def test_layers_with_edge_features(cfg):
    cfg.dataset.edge_dim = 2
    model = network(cfg, layer_type='nc_gineconv')
    batch = batch_of()
    batch.edge_attr = torch.randn(batch.num_edges, 2)
    first, _ = model(batch.clone())
    batch.edge_attr = batch.edge_attr.flip(0)
    assert not torch.allclose(model(batch)[0], first)


def test_what_prepares(cfg):
    cfg.model.type, cfg.peers.nested_gin.hops = 'nested_gin', 4
    assert str(preparation()) == 'EgoNets(hops=4)'
    assert 'nested_gin' in register.network_dict
