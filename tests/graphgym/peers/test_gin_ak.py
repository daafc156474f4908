import pytest
import torch
from torch_geometric.data import Batch, Data
from torch_geometric.graphgym.config import assert_cfg
from torch_geometric.graphgym.model_builder import create_model

from graphgym_nc.graphgym.preparation import preparation
from graphgym_nc.graphgym.validation import ConfigError
from graphgym_nc.structures.subgraphs import Subgraphs
from tests.reference import dense_graph

WIDTH = 8


def network(cfg, task='graph', model='gin_ak', **options):
    cfg.model.type, cfg.share.dim_in, cfg.model.graph_pooling = model, 3, 'add'
    cfg.dataset.task, cfg.dataset.task_type = task, 'classification_multi'
    cfg.dataset.node_encoder, cfg.dataset.node_encoder_name = True, 'BinaryNode'
    cfg.dataset.node_encoder_bn = False
    cfg.gnn.update(
        layer_type='gin_akconv', stage_type='skipsum', layers_mp=2, layers_post_mp=2,
        dim_inner=WIDTH, dropout=0.0, batchnorm=True, l2norm=False,
    )  # fmt: skip
    cfg.peers.gin_ak.update({'hops': 2, 'hop_dim': 4, **options})
    assert_cfg(cfg)
    return create_model(dim_in=3, dim_out=4)


def batch_of(task='graph', prepared=True):
    torch.manual_seed(0)
    graphs = [
        Data(
            x=(torch.rand(n, 3) > 0.5).float(),
            edge_index=dense_graph(n, 0.4, seed=n),
            y=torch.arange(n) % 4 if task == 'node' else torch.tensor([n % 4]),
        )
        for n in (5, 7)
    ]
    batch = Batch.from_data_list(graphs)
    return preparation()(batch) if prepared else batch


def test_network_is_layers_with_norms_residuals_and_a_head(cfg):
    model, batch = network(cfg, parallel=True).eval(), batch_of()
    inner = model.model
    zero, one = inner.encoder.node_encoder.encoder.weight.chunk(2)
    x = torch.stack([sum((one if f else zero)[i] for i, f in enumerate(row)) for row in batch.x])
    for layer in inner.layers:
        conv, (norm, _) = layer.layer.model, layer.post_layer
        x = x + norm(conv(x, batch.edge_index, Subgraphs.of(batch))).relu()
    pooled = torch.stack([x[:5].sum(dim=0), x[5:].sum(dim=0)])
    mlp = inner.classifier[1]
    expected = mlp.lins[1](mlp.norms[0](mlp.lins[0](pooled)).relu())
    scores, true = model(batch)
    torch.testing.assert_close(scores, expected)
    assert true.tolist() == [1, 3]


@pytest.mark.parametrize('options', [{}, {'hop_dim': 0, 'context': False, 'parallel': True}])
def test_batch_equals_single_graphs(cfg, options):
    model, batch = network(cfg, 'node', **options).eval(), batch_of('node')
    graphs = batch_of('node', prepared=False).to_data_list()
    alone = [model(preparation()(Batch.from_data_list([one])))[0] for one in graphs]
    torch.testing.assert_close(model(batch)[0], torch.cat(alone))


def test_idle_norms_are_counted_and_do_nothing(cfg):
    torch.manual_seed(0)
    plain = network(cfg, parallel=True).eval()
    idle = network(cfg, parallel=True, idle_norms=True).eval()
    missing = idle.load_state_dict(plain.state_dict(), strict=False)
    assert not missing.unexpected_keys
    assert all('idle_norm' in key for key in missing.missing_keys)
    batch = batch_of()
    assert torch.equal(idle(batch.clone())[0], plain(batch)[0])
    more = sum(p.numel() for p in idle.parameters()) - sum(p.numel() for p in plain.parameters())
    # GINE, Linear, the last MLP and the parallel GINE of each layer, and the head.
    assert more == 2 * (2 * (WIDTH + 4) + 6 * WIDTH) + 2 * 4


def test_subgraphs_are_dropped_in_training_alone(cfg):
    model, batch = network(cfg, redundancy=1), batch_of()
    assert batch.drop_root_row.numel() < batch.num_nodes
    rows = []
    conv = model.model.layers[0].layer.model
    conv.transforms['subgraph'].register_forward_hook(lambda m, args, out: rows.append(len(out)))
    for training in (True, False):
        scores, _ = model.train(training)(batch.clone())
        scores.sum().backward()
    assert rows == [batch.drop_index.numel(), batch.sub_index.numel()]


def test_layer_in_another_network(cfg):
    model = network(cfg, model='jk_graph')
    scores, _ = model(batch_of())
    assert scores.shape == (2, 4)
    model = network(cfg, model='gnn')
    assert model(batch_of())[0].shape == (2, 4)


def test_activations_of_graphgym(cfg):
    cfg.gnn.act = 'lrelu_01'
    model = network(cfg)
    assert isinstance(model.model.layers[0].layer.model.act, torch.nn.LeakyReLU)
    assert model(batch_of())[0].shape == (2, 4)


def test_edge_features(cfg):
    cfg.dataset.edge_dim = 2
    model = network(cfg, edge_features=True, parallel=True).eval()
    batch = batch_of()
    with pytest.raises(ConfigError, match=r"'peers.gin_ak.edge_features' is True, but the graphs"):
        model(batch.clone())
    batch.edge_attr = torch.randn(batch.num_edges, 2)
    first, _ = model(batch.clone())
    batch.edge_attr = batch.edge_attr.flip(0)
    assert not torch.allclose(model(batch)[0], first)


def test_configurations_without_a_sense(cfg):
    with pytest.raises(ConfigError, match=r"'dataset.task' is 'edge', but 'model.type: gin_ak'"):
        network(cfg, 'edge')
    cfg.model.type, cfg.dataset.task, cfg.gnn.layer_type = 'gin_ak', 'node', 'gcnconv'
    with pytest.raises(ConfigError, match=r"'gnn.layer_type' is 'gcnconv', but must be 'gin_akc"):
        create_model(dim_in=3, dim_out=4)


@pytest.mark.parametrize(
    ('options', 'name', 'random'),
    [
        ({'hops': 4}, 'EgoNets(hops=4)', False),
        ({'walk_length': 10}, 'WalkSubgraphs(length=10, repeat=5)', True),
        (
            {'redundancy': 3},
            'Compose([\n  EgoNets(hops=3),\n  SubgraphDrop(redundancy=3)\n])',
            True,
        ),
    ],
)
def test_what_prepares(cfg, options, name, random):
    cfg.gnn.layer_type = 'gin_akconv'
    cfg.peers.gin_ak.update(options)
    transform = preparation()
    assert str(transform) == name
    assert getattr(transform, 'random', False) == random
