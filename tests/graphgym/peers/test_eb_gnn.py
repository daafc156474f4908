import pytest
import torch
from torch_geometric.data import Batch, Data
from torch_geometric.graphgym.utils.comp_budget import params_count

from graphgym_nc.graphgym.preparation import preparation
from graphgym_nc.graphgym.validation import ConfigError
from tests.graphgym.test_layer import DIM_IN, graph, model_of, step


@pytest.fixture
def cfg(cfg):
    cfg.model.type = 'eb_gnn'
    cfg.gnn.dim_inner, cfg.gnn.layers_mp = 16, 2
    return cfg


def batch_of(task='node'):
    batch = Batch.from_data_list([graph(seed=i) for i in range(3)])
    if task == 'graph':
        batch.y = torch.tensor([0, 1, 2])
    return batch


@pytest.mark.parametrize('head', ['node', 'inductive_node', 'graph'])
@pytest.mark.parametrize('jk', ['last', 'sum'])
def test_tasks(cfg, head, jk):
    cfg.peers.eb_gnn.jk, cfg.gnn.dropout = jk, 0.5
    batch = batch_of(head)
    out = step(model_of(cfg, head=head), batch)
    number = {'node': int(batch.train_mask.sum()), 'inductive_node': 27, 'graph': 3}[head]
    assert out['pred_score'].shape == (number, 3)


def test_found_before_or_by_the_network(cfg):
    model, batch = model_of(cfg).eval(), batch_of()
    prepared = preparation()(batch.clone())
    assert prepared.state_triangle_index.size(1) > 0
    assert 'state_index' not in batch
    assert torch.equal(model(prepared)[0], model(batch)[0])


def test_what_the_keys_say(cfg):
    cfg.peers.eb_gnn.residual, cfg.peers.eb_gnn.jk = False, 'sum'
    cfg.gnn.act, cfg.gnn.batchnorm, cfg.gnn.dropout = 'prelu', False, 0.25
    edges = model_of(cfg).model.edges
    assert (edges.residual, edges.jk, edges.dropout) == (False, 'sum', 0.25)
    assert isinstance(edges.act, torch.nn.PReLU)
    assert not any(isinstance(m, torch.nn.BatchNorm1d) for m in edges.modules())


def test_number_of_parameters(cfg):
    cfg.gnn.layers_post_mp = 1
    d = 16
    first = 2 * (DIM_IN * d + d) + d
    layer = 4 * d * d + 3 * d + 4 * 2 * d
    assert params_count(model_of(cfg, head='graph')) == first + 2 * layer + 3 * d + 3


def test_edge_features(cfg):
    cfg.dataset.edge_encoder, cfg.dataset.edge_encoder_bn = True, False
    cfg.dataset.edge_encoder_name = 'Bond'
    pytest.importorskip('ogb')
    model, batch = model_of(cfg), batch_of()
    with_bonds = []
    for bond in (0, 1):
        used = batch.clone()
        used.edge_attr = torch.full((batch.num_edges, 3), bond)
        with_bonds.append(model.eval()(used)[0])
    assert not torch.allclose(*with_bonds)


def test_nodes_without_edges_are_not_lost(cfg):
    model = model_of(cfg, head='graph').eval()
    graphs = [
        Data(
            x=torch.full((4, DIM_IN), float(i)),
            edge_index=torch.empty(2, 0, dtype=torch.long),
            y=torch.tensor([0]),
        )
        for i in range(2)
    ]
    first, second = model(Batch.from_data_list(graphs))[0]
    assert not torch.allclose(first, second)


def test_layers_before(cfg):
    with pytest.raises(ConfigError, match=r"'gnn.layers_pre_mp' is 1, but 'model\.type"):
        model_of(cfg, layers_pre_mp=1)
