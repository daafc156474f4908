import networkx as nx
import pytest
import torch
from torch_geometric.data import Batch, Data
from torch_geometric.explain.algorithm.utils import set_masks
from torch_geometric.graphgym import register
from torch_geometric.graphgym.config import assert_cfg
from torch_geometric.graphgym.model_builder import create_model

from graphgym_nc import kernels
from graphgym_nc.graphgym.encoder import LinearNodeEncoder
from graphgym_nc.triangles.twin_pairs import TwinPairs
from tests.reference import dense_graph


def graph_network(
    cfg, layer_type='nc_ginconv', dim_in=3, dim_out=4, dropout=0.0, network='jk_graph'
):
    cfg.model.type, cfg.share.dim_in = network, dim_in
    cfg.dataset.task, cfg.dataset.task_type = 'graph', 'classification_multi'
    cfg.gnn.update(
        layer_type=layer_type,
        layers_mp=4,
        layers_post_mp=2 if network == 'jk_concat_graph' else 1,
        dim_inner=8,
        dropout=dropout,
        batchnorm=False,
        l2norm=False,
    )
    cfg.nc.mlp_batchnorm = cfg.nc.mlp_final_act = True
    assert_cfg(cfg)
    return create_model(dim_in=dim_in, dim_out=dim_out)


@pytest.fixture(autouse=True)
def add_pooling(cfg):
    cfg.model.graph_pooling = 'add'


def with_linear_encoder(cfg):
    cfg.dataset.node_encoder, cfg.dataset.node_encoder_name = True, 'LinearNode'
    cfg.dataset.node_encoder_bn = False


def two_graphs(dim_in=3):
    generator = torch.Generator().manual_seed(0)
    graphs = [
        Data(
            x=torch.randn(size, dim_in, generator=generator),
            edge_index=dense_graph(size, seed=size),
            y=torch.zeros(1, dtype=torch.long),
        )
        for size in (6, 9)
    ]
    return Batch.from_data_list(graphs)


def test_graph_network_is_that_of_gin(cfg):
    """Against the formulas of Xu et al., on dense matrices."""
    model, batch = graph_network(cfg).model, two_graphs()
    source, target = batch.edge_index
    adjacency = torch.zeros(15, 15).index_put_((target, source), torch.tensor(1.0))
    readout = torch.zeros(2, 15).index_put_((batch.batch, torch.arange(15)), torch.tensor(1.0))
    hidden = batch.x
    score, true = model(batch)
    assert score.shape == (2, 4)
    assert true.shape == (2,)

    assert (len(model.layers), len(model.classifiers)) == (4, 5)
    expected = model.classifiers[0](readout @ hidden)
    for layer, classifier in zip(model.layers, model.classifiers[1:], strict=True):
        gin = layer.layer.model
        hidden = gin.nn((1 + gin.eps) * hidden + adjacency @ hidden)
        expected = expected + classifier(readout @ hidden)
    torch.testing.assert_close(score, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize('layer_type', ['nc_ginconv', 'ncgnnconv'])
def test_parameters_of_the_graph_network(cfg, layer_type):
    model = graph_network(cfg, layer_type, dim_in=5, dim_out=3)

    def mlp(dim_in, dim_out, width=8):  # two Linear layers, a BatchNorm after each
        return (dim_in + 1) * width + 2 * width + (width + 1) * dim_out + 2 * dim_out

    expected = 4 + mlp(5, 8) + 3 * mlp(8, 8) + (5 + 1) * 3 + 4 * (8 + 1) * 3
    if layer_type == 'ncgnnconv':
        expected += mlp(5, 5) + 3 * mlp(8, 8)
    assert sum(p.numel() for p in model.parameters()) == expected


@pytest.mark.parametrize('encoder', [True, False])
@pytest.mark.parametrize('pooling', ['add', 'mean'])
def test_network_that_concatenates(cfg, pooling, encoder):
    """Against its definition, on dense matrices."""
    cfg.model.graph_pooling = pooling
    if encoder:
        with_linear_encoder(cfg)
    model, batch = graph_network(cfg, network='jk_concat_graph').model, two_graphs()
    source, target = batch.edge_index
    adjacency = torch.zeros(15, 15).index_put_((target, source), torch.tensor(1.0))
    readout = torch.zeros(2, 15).index_put_((batch.batch, torch.arange(15)), torch.tensor(1.0))
    if pooling == 'mean':
        readout = readout / torch.tensor([[6.0], [9.0]])
    hidden = batch.x
    score, true = model(batch)
    assert true.shape == (2,)

    outputs = []
    if encoder:
        hidden = model.encoder.node_encoder.encoder(hidden)
        outputs.append(hidden)
    for layer in model.layers:
        gin = layer.layer.model
        hidden = gin.nn((1 + gin.eps) * hidden + adjacency @ hidden)
        outputs.append(hidden)
    first, last = model.classifier.lins
    assert (first.in_channels, first.out_channels) == (8 * (5 if encoder else 4), 8)
    expected = last(first(readout @ torch.cat(outputs, dim=1)).relu())
    torch.testing.assert_close(score, expected, rtol=1e-4, atol=1e-4)


def test_dropout_of_the_network_that_concatenates_is_in_the_classifier_alone(cfg):
    model, batch = graph_network(cfg, dropout=0.5, network='jk_concat_graph').model, two_graphs()
    once, again = (torch.cat(model.pooled(batch.clone())[1:], dim=1) for _ in range(2))
    assert torch.equal(once, again)
    assert model.classifier.dropout == [0.5, 0.0]  # none on the scores


def test_dropout_of_the_graph_network_is_on_scores_alone(cfg):
    model = graph_network(cfg, dropout=0.5)
    assert not [m for m in model.modules() if isinstance(m, torch.nn.Dropout)]
    layers = model.model.classifiers
    whole = [torch.zeros(2, 4) for _ in layers]
    for i, layer in enumerate(layers):
        layer.register_forward_hook(lambda module, args, out, i=i: whole[i].copy_(out.detach()))
    score, _ = model(two_graphs())
    # Every score of every layer is either left out or doubled.
    kept = torch.cartesian_prod(*[torch.tensor([0.0, 2.0])] * len(layers))
    possible = torch.einsum('kl,lgc->kgc', kept, torch.stack(whole))
    assert (possible - score).abs().amin(dim=0).max() < 1e-4
    model.eval()
    score, _ = model(two_graphs())
    torch.testing.assert_close(score, torch.stack(whole).sum(dim=0))


def test_graph_network_after_linear_layers(cfg):
    cfg.gnn.layers_pre_mp = 2
    model = graph_network(cfg, 'ncgnnconv')
    score, _ = model(two_graphs())
    score.sum().backward()
    assert model.model.classifiers[0](torch.zeros(1, 8)).shape == (1, 4)
    assert all(p.grad is not None for p in model.parameters())


def node_network(cfg, layers, width, dim_in, dim_out):
    """The one around GIN in benchmarking-gnns."""
    cfg.model.type, cfg.share.dim_in = 'jk_node', dim_in
    cfg.dataset.node_encoder, cfg.dataset.node_encoder_name = True, 'OneHotNode'
    cfg.dataset.node_encoder_bn, cfg.dataset.task_type = False, 'classification_multi'
    cfg.gnn.update(
        stage_type='skipsum',
        layer_type='nc_ginconv',
        layers_mp=layers,
        layers_post_mp=1,
        dim_inner=width,
        batchnorm=True,
        l2norm=False,
    )
    cfg.nc.mlp_batchnorm = True
    assert_cfg(cfg)
    return create_model(dim_in=dim_in, dim_out=dim_out).model


@pytest.mark.parametrize(
    ('layers', 'width', 'dim_in', 'dim_out', 'published'),
    [
        (4, 110, 3, 2, 100_884),
        (4, 110, 7, 6, 103_544),
        (16, 124, 3, 2, 508_574),
        (16, 124, 7, 6, 517_570),
    ],
)
def test_published_parameters_of_gin(cfg, layers, width, dim_in, dim_out, published):
    model = node_network(cfg, layers, width, dim_in, dim_out)
    assert sum(p.numel() for p in model.parameters()) == published


def test_node_network_is_that_of_benchmarking_gnns(cfg):
    """Against its definition, on dense matrices."""
    model, batch = node_network(cfg, 3, 8, 5, 4), two_graphs()
    batch.x = torch.eye(5)[torch.arange(15) % 5]
    batch.y = torch.arange(15) % 4
    source, target = batch.edge_index
    adjacency = torch.zeros(15, 15).index_put_((target, source), torch.tensor(1.0))
    score, true = model(batch.clone())
    assert torch.equal(true, batch.y)

    hidden = model.encoder.node_encoder.encoder.weight[torch.arange(15) % 5]
    expected = model.classifiers[0](hidden)
    for layer, classifier in zip(model.layers, model.classifiers[1:], strict=True):
        gin = layer.layer.model
        first, norm, _, last = gin.nn
        out = last(norm(first((1 + gin.eps) * hidden + adjacency @ hidden)).relu())
        hidden = hidden + torch.nn.functional.batch_norm(out, None, None, training=True).relu()
        expected = expected + classifier(hidden)
    torch.testing.assert_close(score, expected, rtol=1e-4, atol=1e-4)

    model.eval()
    whole, _ = model(batch.clone())
    batch.split, batch.val_mask = 'val', torch.arange(15) < 6
    score, true = model(batch)
    assert torch.equal(true, batch.y[:6])
    torch.testing.assert_close(score, whole[:6])


def test_dropout_of_the_node_network_is_on_layers(cfg):
    cfg.gnn.dropout = 0.5
    model, batch = node_network(cfg, 3, 8, 3, 4), two_graphs()
    first, *others = model.outputs(batch.clone(), cfg.gnn.dropout)
    assert not (first == 0).any()
    for out in others:
        assert 0.3 < float((out == 0).float().mean()) < 0.8
    model.eval()
    assert torch.equal(model(batch.clone())[0], model(batch.clone())[0])


def network_of_cliques(cfg, merged: bool, **kwargs):
    """Scores, gradients and statistics after a training step on graphs with twins."""
    torch.manual_seed(0)
    model = graph_network(cfg, 'ncgnnconv', **kwargs).double()
    model.model.keeps_twins_alike &= merged
    sizes = (9, 6, 8)
    graphs = [
        Data(
            x=torch.ones(2 * n, 3, dtype=torch.double) * n,
            edge_index=to_edge_index(nx.barbell_graph(n, 0)),
            y=torch.zeros(1, dtype=torch.long),
        )
        for n in sizes
    ]
    batch = Batch.from_data_list(graphs)
    score, _ = model.model(batch)
    assert batch.triangle_incidence.pairs is None  # for this pass alone
    (score * torch.arange(score.numel()).view_as(score)).sum().backward()
    return [score, *(p.grad for p in model.parameters()), *model.buffers()]


def to_edge_index(graph):
    return torch.tensor(sorted(graph.to_directed().edges)).t()


@pytest.mark.parametrize('encoder', [False, True])
@pytest.mark.parametrize('network', ['jk_graph', 'jk_concat_graph'])
def test_twins_are_computed_once(cfg, monkeypatch, network, encoder):
    if encoder:
        with_linear_encoder(cfg)
    merged = []
    monkeypatch.setattr(
        TwinPairs,
        'of',
        staticmethod(lambda *args, of=TwinPairs.of: merged.append(of(*args)) or merged[-1]),
    )
    ours = network_of_cliques(cfg, merged=True, network=network)
    assert merged[0].num_edges < merged[0].incidence.num_edges / 4
    theirs = network_of_cliques(cfg, merged=False, network=network)
    assert len(merged) == 1
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize('network', ['jk_graph', 'jk_concat_graph', 'gnn'])
def test_without_kernels_a_network_calls_none(cfg, monkeypatch, network):
    monkeypatch.delattr('graphgym_nc.triangles.incidence.parts_by_kernels')
    cfg.nc.kernel = 'torch'
    model = graph_network(cfg, 'ncgnnconv', network=network)
    cfg.nc.kernel = 'auto'  # of another model
    assert model.model(two_graphs())[0].shape == (2, 4)


@pytest.mark.parametrize('key', ['encoder', 'pre_mp'])
def test_nodes_that_an_encoder_may_tell_apart_are_no_twins(cfg, key):
    assert graph_network(cfg, 'ncgnnconv').model.keeps_twins_alike
    if key == 'encoder':
        cfg.dataset.node_encoder, cfg.dataset.node_encoder_name = True, 'PPANode'
    else:
        cfg.gnn.layers_pre_mp = 1
    assert not graph_network(cfg, 'ncgnnconv').model.keeps_twins_alike


def test_an_encoder_of_another_package_may_tell_nodes_apart(cfg, monkeypatch):
    class Theirs(LinearNodeEncoder): ...

    with_linear_encoder(cfg)
    assert graph_network(cfg, 'ncgnnconv').model.keeps_twins_alike
    monkeypatch.setitem(register.node_encoder_dict, 'LinearNode', Theirs)
    assert not graph_network(cfg, 'ncgnnconv').model.keeps_twins_alike


def test_gradient_of_the_input_is_that_of_every_node(cfg):
    model = graph_network(cfg, 'ncgnnconv').model
    graph = Data(
        x=torch.ones(9, 3), edge_index=to_edge_index(nx.complete_graph(9)), y=torch.zeros(1)
    )
    batch = Batch.from_data_list([graph])
    batch.x.requires_grad_()
    x = batch.x
    (gradient,) = torch.autograd.grad(model.eval()(batch)[0].sum(), x)
    torch.testing.assert_close(gradient, gradient[:1].expand_as(gradient))
    assert gradient.abs().sum() > 0


@pytest.mark.parametrize('how', ['masks', 'hook', 'hook of the encoder'])
def test_nodes_that_an_explainer_tells_apart_are_no_twins(cfg, monkeypatch, how):
    with_linear_encoder(cfg)
    model = graph_network(cfg, 'ncgnnconv').model
    edge_index = to_edge_index(nx.complete_graph(9))
    conv = model.layers[0].layer.model
    if how == 'masks':
        set_masks(model, torch.randn(edge_index.size(1)), edge_index)
    else:
        module = conv if how == 'hook' else model.encoder.node_encoder.encoder
        module.register_forward_hook(lambda module, args, out: out * torch.arange(9)[:, None])
    monkeypatch.setattr(TwinPairs, 'of', None)  # would fail
    batch = Batch.from_data_list(
        [Data(x=torch.ones(9, 3), edge_index=edge_index, y=torch.ones(1))]
    )
    assert model(batch)[0].shape == (1, 4)


def test_twins_are_looked_for_on_the_cpu_alone(cfg, monkeypatch):
    """Elsewhere, a look at the features would wait for the device."""
    model = graph_network(cfg, 'ncgnnconv').model
    monkeypatch.setattr(TwinPairs, 'of', None)  # would fail
    with kernels.use('torch'):
        model(two_graphs())
