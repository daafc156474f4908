import pytest
import torch
from torch_geometric.data import Batch, Data
from torch_geometric.graphgym.model_builder import create_model
from torch_geometric.graphgym.utils.comp_budget import params_count
from torch_geometric.nn import MLP, GCNConv, global_mean_pool

from graphgym_nc.graphgym.preparation import preparation
from graphgym_nc.graphgym.validation import ConfigError
from graphgym_nc.nn.peers import SAT, SATConv, SubgraphExtractor, SubtreeExtractor
from graphgym_nc.structures.subgraphs import Subgraphs
from tests.reference import dense_graph


@pytest.fixture(autouse=True)
def settings(cfg):
    cfg.model.type, cfg.model.graph_pooling = 'sat', 'mean'
    cfg.dataset.task, cfg.dataset.task_type = 'graph', 'classification_multi'
    cfg.share.dim_in = 3
    cfg.gnn.update(
        layer_type='gcnconv', layers_mp=2, layers_post_mp=2, dim_inner=16, dropout=0.0,
        batchnorm=True,
    )  # fmt: skip
    cfg.peers.sat.update(k=2, walk_length=4)


def network(dim_out=4):
    torch.manual_seed(0)
    return create_model(dim_in=3, dim_out=dim_out).model


def batch_of(*sizes):
    generator = torch.Generator().manual_seed(0)
    graphs = [
        Data(
            x=torch.randn(n, 3, generator=generator), edge_index=dense_graph(n, 0.5, seed=n),
            y=torch.zeros(1, dtype=torch.long),
        )
        for n in sizes
    ]  # fmt: skip
    transform = preparation()
    return Batch.from_data_list([transform(data) if transform else data for data in graphs])


@pytest.mark.parametrize('extractor', ['subtree', 'subgraph'])
def test_graph_network_is_the_model(cfg, extractor):
    cfg.peers.sat.update(extractor=extractor, heads=4)
    model, batch = network(), batch_of(5, 8)
    kind = {'subtree': SubtreeExtractor, 'subgraph': SubgraphExtractor}[extractor]
    convs = [SATConv(kind([GCNConv(16, 16) for _ in range(2)], 16), 16, 4) for _ in range(2)]
    plain = SAT(3, convs, MLP([16, 16, 4], norm=None), 4, pool=global_mean_pool)
    for ours, theirs in zip(model.parameters(), plain.parameters(), strict=True):
        theirs.data = ours.data
    structure = None
    if extractor == 'subgraph':
        subgraphs = Subgraphs.of(batch)
        structure = [subgraphs.index, subgraphs.root_index, subgraphs.edge_index]
    expected = plain(batch.x, batch.edge_index, batch.batch, batch.random_walk_pe, structure)
    score, true = model(batch)
    assert score.shape == (2, 4)
    assert true is batch.y
    torch.testing.assert_close(score, expected)


def test_node_network(cfg):
    cfg.dataset.task = 'node'
    model, batch = network(), batch_of(5, 8)
    batch.y = torch.arange(13)
    score, true = model(batch)
    assert score.shape == (13, 4)
    assert true is batch.y
    model.eval()
    score, _ = model(batch_of(5, 8))
    batch = batch_of(5, 8)
    batch.y, batch.split, batch.val_mask = torch.arange(13), 'val', torch.arange(13) % 3 == 0
    chosen, true = model(batch)
    torch.testing.assert_close(chosen, score[::3])
    assert true.tolist() == [0, 3, 6, 9, 12]


def test_a_single_graph_that_is_no_batch(cfg):
    cfg.dataset.task = 'node'
    model, batch = network().eval(), batch_of(8)
    score, _ = model(batch.get_example(0))
    torch.testing.assert_close(score, model(batch)[0])


@pytest.mark.parametrize(
    'layer', ['ginconv', 'gatconv', 'sageconv', 'generalconv', 'ncgnnconv', 'nc_ginconv',
              'pna2conv', 'pna3conv'],
)  # fmt: skip
@pytest.mark.parametrize('extractor', ['subtree', 'subgraph'])
def test_runs_any_layer(cfg, layer, extractor):
    cfg.gnn.layer_type, cfg.peers.sat.extractor = layer, extractor
    model = network()
    model(batch_of(5, 1, 8))[0].sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name


def test_layers_with_edge_features_see_those_of_subgraphs(cfg):
    cfg.gnn.layer_type, cfg.peers.sat.extractor, cfg.dataset.edge_dim = (
        'nc_gineconv', 'subgraph', 2,
    )  # fmt: skip
    model, batch = network().eval(), batch_of(5, 8)
    batch.edge_attr = torch.randn(batch.num_edges, 2, requires_grad=True)
    model(batch)[0].sum().backward()
    assert batch.edge_attr.grad.abs().sum(dim=1).gt(0).all()


def test_without_normalisation_and_walks(cfg):
    cfg.gnn.batchnorm, cfg.peers.sat.walk_length = False, 0
    assert preparation() is None
    model = network()
    assert not any(isinstance(m, torch.nn.BatchNorm1d) for m in model.modules())
    assert model(batch_of(5))[0].shape == (1, 4)


def test_what_is_prepared(cfg):
    assert repr(preparation()) == 'RandomWalks(4)'
    cfg.peers.sat.extractor = 'subgraph'
    assert 'RandomWalks(4),\n  EgoNets(hops=2)' in repr(preparation())
    cfg.peers.sat.walk_length = 0
    assert repr(preparation()) == 'EgoNets(hops=2)'


def test_linear_layers_before(cfg):
    before = params_count(network())
    cfg.gnn.layers_pre_mp = 1
    model = network()
    added = 3 * 16 + 2 * 16 + (16 - 3) * 16  # a layer, its BatchNorm, and a wider input
    assert params_count(model) == before + added
    assert model(batch_of(5, 8))[0].shape == (2, 4)


@pytest.mark.parametrize(
    ('keys', 'message'),
    [
        ({'gnn.dim_inner': 20}, "'gnn.dim_inner' is 20, but must be a multiple of 'peers.sat.h"),
        ({'dataset.task': 'edge'}, "'dataset.task' is 'edge', but 'model.type: sat' is for"),
        ({'gnn.layers_mp': 0}, "'gnn.layers_mp' is 0, but 'model.type: sat' needs a layer"),
        ({'peers.sat.k': 0}, "'peers.sat.k' is 0, but must be an integer from 1"),
        (
            {'gnn.layer_type': 'pna2conv', 'gnn.dim_inner': 6, 'peers.sat.heads': 2},
            "'gnn.dim_inner' is 6, but 'gnn.layer_type: pna2conv' has 4 towers",
        ),
        (
            {'gnn.layer_type': 'sat', 'peers.sat.extractor': 'subgraph'},
            "'gnn.layer_type' is 'sat', which needs more of a graph than its edges",
        ),
    ],
)
def test_senseless_configurations(cfg, keys, message):
    for name, value in keys.items():
        *groups, last = name.split('.')
        node = cfg
        for group in groups:
            node = node[group]
        node[last] = value
    with pytest.raises(ConfigError, match=message):
        network()
