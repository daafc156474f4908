import pytest
import torch
from torch_geometric.data import Batch, Data
from torch_geometric.graphgym.config import assert_cfg
from torch_geometric.graphgym.model_builder import create_model
from torch_geometric.nn import MaxAggregation, SumAggregation

from graphgym_nc.graphgym.preparation import preparation
from graphgym_nc.graphgym.validation import ConfigError
from graphgym_nc.structures.sets import Sets
from tests.reference import dense_graph


def network(cfg, task='graph'):
    cfg.model.type, cfg.share.dim_in = 'k123', 3
    cfg.dataset.task, cfg.dataset.task_type = task, 'classification_multi'
    cfg.gnn.update(layers_mp=3, layers_post_mp=1, dim_inner=8)
    assert_cfg(cfg)
    return create_model(dim_in=3, dim_out=4).model.eval()


def two_graphs():
    graphs = [
        Data(x=torch.eye(3)[torch.arange(n) % 3], edge_index=dense_graph(n), y=torch.tensor([n]))
        for n in (6, 9)
    ]
    return Batch.from_data_list(graphs)


@pytest.mark.parametrize('labels', [True, False])
def test_scores(cfg, labels):
    cfg.peers.k123.labels = labels
    model, batch = network(cfg), two_graphs()
    assert model.model.triple_convs[0].num_types == (20 if labels else 2)
    prepared = preparation()(batch.clone())
    assert str(preparation()) == f'AddSets(labels={labels})'
    assert prepared.triple_type.max() > 1 or not labels
    score, true = model(prepared.clone())
    assert torch.equal(true, batch.y)
    sets = [Sets.of(prepared, name) for name in ('pair', 'triple')]
    torch.testing.assert_close(score, model.model(batch.x, batch.edge_index, sets, batch.batch, 2))
    torch.testing.assert_close(model(batch)[0], score)  # it finds sets that it is not given


def test_settings(cfg):
    cfg.gnn.update(agg='add', act='selu', dropout=0.3)
    cfg.peers.k123.layers_sets, cfg.model.graph_pooling = 4, 'max'
    model = network(cfg).model
    assert isinstance(model.pool, MaxAggregation)
    assert isinstance(model.mlp.act, torch.nn.SELU)
    assert model.mlp.dropout == [0.3, 0.0, 0.0]
    assert (len(model.convs), len(model.pair_convs), len(model.triple_convs)) == (3, 4, 4)
    convs = [*model.convs, *model.pair_convs, *model.triple_convs]
    assert all(isinstance(conv.aggr_module, SumAggregation) for conv in convs)


def test_it_is_for_graphs(cfg):
    with pytest.raises(ConfigError, match=r"'dataset\.task' is 'node', but 'model\.type: k123'"):
        network(cfg, 'node')
