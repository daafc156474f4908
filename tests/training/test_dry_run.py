from pathlib import Path

import pytest
import torch
from torch_geometric.data import Batch, Data
from torch_geometric.graphgym import register

from graphgym_nc import find_triangles
from graphgym_nc.datasets import GeneratedSBM, TriangleCounting
from graphgym_nc.datasets.subgraph_counts import TARGETS, count_subgraphs
from graphgym_nc.graphgym.validation import ConfigError
from graphgym_nc.training.data import DataModule
from graphgym_nc.training.dry_run import _forward_backward, check
from graphgym_nc.training.train import create_model
from tests.reference import dense_graph


def test_check_reports_the_first_batch(cfg):
    cfg.dataset.format, cfg.dataset.name = 'NC', 'TriangleCounting'
    cfg.dataset.task, cfg.dataset.task_type = 'graph', 'regression'
    cfg.nc.counting_graphs, cfg.train.batch_size = 40, 12
    cfg.gnn.layer_type, cfg.gnn.head, cfg.gnn.layers_post_mp = 'ncgnnconv', 'graph', 1
    cfg.model.loss_fun = 'l1'
    datamodule = DataModule()
    report = check(create_model(), datamodule)
    assert report['batches per epoch'] == '1 / 1 / 2'
    assert report['first batch'].startswith('12 graphs, ')
    assert report['prediction'] == '12 x 1'
    assert report['metric'] == 'mae, less is better'
    # All 12 training graphs are in the batch: their triangles can be counted one by one.
    graphs = list(datamodule.dataset[datamodule.dataset.split_idxs[0]])
    triangles = sum(find_triangles(g.edge_index, g.num_nodes).size(1) for g in graphs)
    nodes = sum(g.num_nodes for g in graphs)
    assert report['triangles'].startswith(f'{triangles}, on ')
    assert f'({3 * triangles / nodes:.1f} messages per node)' in report['triangles']
    cfg.metric_best = 'accuracy'
    with pytest.raises(ConfigError, match="'metric_best' is 'accuracy'"):
        check(create_model(), datamodule)


def test_check_computes_the_metrics(cfg, monkeypatch):
    def broken(true, pred, task_type):
        raise TypeError(f'{len(true)} batch of {true[0].numel()} labels')

    monkeypatch.setitem(register.metric_dict, 'broken', broken)
    cfg.dataset.format, cfg.dataset.name = 'NC', 'TriangleCounting'
    cfg.dataset.task, cfg.dataset.task_type = 'graph', 'regression'
    cfg.nc.counting_graphs, cfg.train.batch_size = 40, 12
    cfg.gnn.layer_type, cfg.gnn.head, cfg.gnn.layers_post_mp = 'ncgnnconv', 'graph', 1
    cfg.model.loss_fun, cfg.metric_best = 'l1', 'loss'
    cfg.custom_metrics = ['broken']
    with pytest.raises(TypeError, match='1 batch of 12 labels'):
        check(create_model(), DataModule())


@pytest.mark.parametrize('target', TARGETS)
def test_the_first_graphs_may_have_the_same_number_of_subgraphs(cfg, target):
    dataset = TriangleCounting(cfg.dataset.dir, 5000, target=target, first=1)
    assert len(dataset) == 3
    counts = [count_subgraphs(g.edge_index.numpy(), g.num_nodes, target) for g in dataset]
    assert dataset.y.tolist() == counts


def test_check_without_kernels_calls_none(cfg, monkeypatch):
    monkeypatch.delattr('graphgym_nc.triangles.incidence.parts_by_kernels')
    cfg.dataset.format, cfg.dataset.name = 'NC', 'TriangleCounting'
    cfg.dataset.task, cfg.dataset.task_type = 'graph', 'regression'
    cfg.nc.counting_graphs, cfg.nc.kernel = 40, 'torch'
    cfg.gnn.layer_type, cfg.gnn.head, cfg.gnn.layers_post_mp = 'ncgnnconv', 'graph', 1
    cfg.model.loss_fun = 'l1'
    datamodule = DataModule()
    assert check(create_model(), datamodule)['prediction'] == '12 x 1'


def test_memory_of_the_backward_pass(cfg):
    class Square(torch.nn.Module):
        def forward(self, batch):
            return (batch.x * batch.w).sum(dim=1), batch.y

    cfg.model.loss_fun = 'mse'
    batch = Batch.from_data_list([Data(x=torch.ones(8, 4), edge_index=dense_graph(8))])
    batch.w = torch.ones(8, 4, requires_grad=True)
    batch.y = torch.zeros(8)
    loss, saved = _forward_backward(Square(), batch)
    assert loss == 16.0
    assert saved['shape'] == (8,)
    # `x` (for the product), and prediction and target (for the loss).
    assert saved['bytes'] == 8 * 4 * 4 + 2 * 8 * 4


@pytest.mark.parametrize('name', ['CLUSTER', 'TriangleCounting'])
def test_only_one_batch_is_drawn(cfg, monkeypatch, name):
    if name == 'CLUSTER':
        cfg.dataset.format, cfg.nc.sbm_source = 'PyG-GNNBenchmarkDataset', 'generated'
    else:
        cfg.dataset.format, cfg.dataset.task, cfg.dataset.task_type = 'NC', 'graph', 'regression'
    cfg.dataset.name, cfg.gnn.head, cfg.gnn.layers_post_mp = name, 'inductive_node', 1
    cfg.train.batch_size, cfg.gnn.layer_type = 8, 'ncgnnconv'
    drawn = []
    kind = {'CLUSTER': GeneratedSBM, 'TriangleCounting': TriangleCounting}[name]
    draw = kind.draw_graph
    monkeypatch.setattr(kind, 'draw_graph', lambda *args: drawn.append(args) or draw(*args))
    datamodule = DataModule(first=8)
    assert len(drawn) == 3 * 8
    batches = {'CLUSTER': [1250, 125, 125], 'TriangleCounting': [188, 125, 313]}[name]
    assert datamodule.num_batches == batches
    assert next(iter(datamodule.train_dataloader())).num_graphs == 8
    assert not list(Path(cfg.dataset.dir).rglob('*.pt'))
