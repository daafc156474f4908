import pytest
from torch_geometric.graphgym.config import assert_cfg

from graphgym_nc import TriangleIncidence
from graphgym_nc.benchmark.cost import cost
from graphgym_nc.training.data import DataModule
from graphgym_nc.training.train import create_model


@pytest.fixture
def configured(cfg):
    cfg.dataset.format, cfg.dataset.name = 'NC', 'TriangleCounting'
    cfg.dataset.task, cfg.dataset.task_type = 'graph', 'regression'
    cfg.nc.counting_graphs, cfg.train.batch_size, cfg.model.loss_fun = 40, 12, 'l1'
    cfg.gnn.update(head='graph', layers_mp=2, layers_post_mp=1, dim_inner=8, batchnorm=False)
    return cfg


def test_products_of_gin_by_hand(configured):
    configured.gnn.layer_type = 'nc_ginconv'
    assert_cfg(configured)
    datamodule = DataModule()
    result = cost(create_model(), datamodule)
    test = datamodule.dataset[datamodule.dataset.split_idxs[2]]
    nodes = sum(data.num_nodes for data in test)
    # Two layers of 1-8-8 and 8-8-8, on nodes, and 8-1 on graphs.
    assert result['macs_per_graph'] == (nodes * (8 + 64 + 64 + 64) + len(test) * 8) / len(test)
    assert (result['split'], result['graphs']) == ('test', 20)
    assert result['seconds'] > 0


def test_products_of_nc_gnn_run_once_per_edge(configured):
    configured.gnn.layer_type = 'ncgnnconv'
    assert_cfg(configured)
    datamodule = DataModule()
    result = cost(create_model(), datamodule)
    nodes = edges = 0
    for data in datamodule.dataset[datamodule.dataset.split_idxs[2]]:
        nodes += data.num_nodes
        edges += TriangleIncidence.from_data(data).num_edges
    gin = nodes * (8 + 64 + 64 + 64) + 20 * 8
    on_messages = gin + edges * (8 + 8 + 64 + 64)  # MLP2: 1-8-1 and 8-8-8, all of it on edges
    assert gin < 20 * result['macs_per_graph'] <= on_messages
