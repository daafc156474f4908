"""What `layer_type: ncgnnconv` must survive in a configuration that somebody already has: all
through GraphGym's own `create_model`, loaders and training loop.
"""

import copy
import gc
import logging
import weakref

import pytest
import torch
from torch_geometric.data import Batch, Data
from torch_geometric.graphgym.config import assert_cfg
from torch_geometric.graphgym.init import init_weights
from torch_geometric.graphgym.loss import compute_loss
from torch_geometric.graphgym.model_builder import create_model
from torch_geometric.graphgym.train import GraphGymDataModule
from torch_geometric.graphgym.train import train as stock_train
from torch_geometric.graphgym.utils.comp_budget import params_count
from torch_geometric.loader import RandomNodeLoader
from torch_geometric.nn import GINConv
from torch_geometric.utils import to_torch_csr_tensor

import graphgym_nc.graphgym.layer
from graphgym_nc import TriangleIncidence, kernels
from graphgym_nc.graphgym.init import torch_weights
from graphgym_nc.graphgym.layer import incidence_of
from graphgym_nc.graphgym.validation import ConfigError
from graphgym_nc.transforms import AddTriangles
from tests.reference import dense_graph

DIM_IN = 5


def graph(num_nodes=9, seed=0, edge_index=None, **kwargs):
    edge_index = dense_graph(num_nodes, seed=seed) if edge_index is None else edge_index
    generator = torch.Generator().manual_seed(seed)
    mask = torch.rand(num_nodes, generator=generator) < 0.5
    mask[0] = True
    return Data(
        x=torch.randn(num_nodes, DIM_IN, generator=generator),
        edge_index=edge_index,
        y=torch.randint(0, 3, (num_nodes,), generator=generator),
        train_mask=mask,
        **kwargs,
    )


def model_of(cfg, layer_type='ncgnnconv', dim_out=3, **gnn):
    cfg.gnn.layer_type = layer_type
    for key, value in gnn.items():
        cfg.gnn[key] = value
    assert_cfg(cfg)
    return create_model(dim_in=DIM_IN, dim_out=dim_out)


def step(model, batch, split='train'):
    """A training step as GraphGym's module does it; all parameters must get a gradient."""
    out = model._shared_step(batch.clone(), split)
    out['loss'].backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
    return out


@pytest.mark.parametrize('stage_type', ['stack', 'skipsum', 'skipconcat', 'jkconcat'])
@pytest.mark.parametrize('layers_pre_mp', [0, 1])
@pytest.mark.parametrize('batchnorm', [True, False])
@pytest.mark.parametrize('layer_type', ['ncgnnconv', 'ncgnneconv', 'nc_ginconv', 'nc_gineconv'])
def test_stages(cfg, stage_type, layers_pre_mp, batchnorm, layer_type):
    if stage_type == 'skipsum' and layers_pre_mp == 0:
        cfg.gnn.dim_inner = DIM_IN  # GraphGym's own skipsum cannot do without
    cfg.dataset.edge_dim = 2
    batch = Batch.from_data_list([graph(seed=i) for i in range(3)])
    batch.edge_attr = torch.randn(batch.num_edges, 2)
    model = model_of(
        cfg,
        layer_type,
        stage_type=stage_type,
        layers_pre_mp=layers_pre_mp,
        layers_mp=3,
        batchnorm=batchnorm,
    )
    out = step(model, batch)
    assert out['pred_score'].shape == (int(batch.train_mask.sum()), 3)


@pytest.mark.parametrize('agg', ['add', 'mean', 'max'])
@pytest.mark.parametrize('act', ['relu', 'prelu', 'elu'])
def test_aggregations_and_activations(cfg, agg, act):
    step(model_of(cfg, agg=agg, act=act), Batch.from_data_list([graph()]))


@pytest.mark.parametrize('mlp_batchnorm', [True, False])
@pytest.mark.parametrize('mlp_final_act', [True, False])
@pytest.mark.parametrize('mlp_layers', [1, 3])
def test_shape_of_the_mlps(cfg, mlp_batchnorm, mlp_final_act, mlp_layers):
    cfg.nc.mlp_batchnorm = mlp_batchnorm
    cfg.nc.mlp_final_act = mlp_final_act
    cfg.nc.mlp_layers = mlp_layers
    model = model_of(cfg, layers_mp=1)
    conv = model.mp.layer0.layer.model
    hidden = mlp_layers - 1 + mlp_final_act
    for nn in (conv.nn, conv.nn_communicate):
        kinds = [type(module).__name__ for module in nn]
        assert kinds.count('Linear') == mlp_layers
        assert kinds.count('BatchNorm1d') == hidden * mlp_batchnorm
        assert kinds.count('ReLU') == hidden
    step(model, Batch.from_data_list([graph()]))


def kinds(nn):
    return '-'.join(type(module).__name__ for module in nn)


def test_networks_of_their_own_depth_and_order(cfg):
    cfg.nc.mlp_batchnorm = cfg.nc.mlp_final_act = True
    full, lean = 'Linear-BatchNorm1d-ReLU-Linear-BatchNorm1d-ReLU', 'Linear-BatchNorm1d-ReLU'
    conv = model_of(cfg).mp.layer0.layer.model
    assert (kinds(conv.nn), kinds(conv.nn_communicate)) == (full, full)
    cfg.nc.mlp2_plain_last = True
    conv = model_of(cfg).mp.layer0.layer.model
    assert (kinds(conv.nn), kinds(conv.nn_communicate)) == (full, f'{lean}-Linear')
    cfg.nc.mlp2_plain_last, cfg.nc.mlp2_layers = False, 1
    conv = model_of(cfg).mp.layer0.layer.model
    assert (kinds(conv.nn), kinds(conv.nn_communicate)) == (full, lean)
    cfg.nc.mlp_act_first = True
    conv = model_of(cfg).mp.layer0.layer.model
    assert kinds(conv.nn_communicate) == 'Linear-ReLU-BatchNorm1d'
    assert kinds(conv.nn) == '-'.join(2 * [kinds(conv.nn_communicate)])


def test_norm_and_activation_after_the_layer(cfg):
    cfg.nc.mlp_batchnorm, cfg.gnn.batchnorm = True, True
    layer = model_of(cfg).mp.layer0
    assert kinds(layer.layer.model.nn_communicate) == 'Linear-BatchNorm1d-ReLU-Linear'
    assert kinds(layer.post_layer) == 'BatchNorm1d-ReLU'


@pytest.mark.parametrize('layer_type', ['ncgnnconv', 'ncgnneconv'])
@pytest.mark.parametrize('aggr', ['add', 'sqrt', 'mean', 'power', 'learned'])
def test_how_messages_are_put_together(cfg, layer_type, aggr):
    cfg.nc.communicate_aggr, cfg.nc.communicate_power = aggr, 0.25
    cfg.nc.communicate_log = aggr == 'learned'
    model = model_of(cfg, layer_type)
    conv = model.mp.layer1.layer.model
    assert conv.communicate_aggr == (0.25 if aggr == 'power' else aggr)
    shapes = [list(p.shape) for p in conv.aggregation.parameters()]
    assert shapes == ([[cfg.gnn.dim_inner]] * 2 if aggr == 'learned' else [])
    step(model, Batch.from_data_list([graph()]))


def test_epsilon(cfg):
    cfg.nc.eps, cfg.nc.train_eps = 0.25, False
    conv = model_of(cfg).mp.layer0.layer.model
    assert conv.eps.tolist() == [0.25]
    assert not isinstance(conv.eps, torch.nn.Parameter)


@pytest.mark.parametrize('layer_type', ['ncgnnconv', 'ncgnneconv'])
@pytest.mark.parametrize('act', ['relu', 'prelu'])
def test_scale_of_communication(cfg, layer_type, act):
    cfg.nc.communicate_scale = 0.125
    cfg.nc.mlp_batchnorm = cfg.nc.mlp_final_act = True
    model = model_of(cfg, layer_type, act=act)
    *_, last, final = model.mp.layer1.layer.model.nn_communicate
    assert last.weight.eq(0.125).all()
    conv = model.mp.layer1.layer.model
    for initialise in (
        conv.reset_parameters,
        lambda: model.apply(init_weights),
        lambda: model.apply(torch_weights),
    ):
        initialise()
        assert last.weight.eq(0.125).all()
    if act == 'prelu':
        assert final.weight.item() == 0.25
    model.apply(lambda module: None)  # what others apply does not scale again
    assert last.weight.eq(0.125).all()
    cfg.nc.mlp_batchnorm = cfg.nc.mlp_final_act = False
    torch.manual_seed(0)
    small = model_of(cfg, layer_type, act=act).mp.layer1.layer.model.nn_communicate[-1]
    cfg.nc.communicate_scale = 1.0
    torch.manual_seed(0)
    large = model_of(cfg, layer_type, act=act).mp.layer1.layer.model.nn_communicate[-1]
    torch.testing.assert_close(small.weight, large.weight * 0.125)


def test_gin_baseline_is_the_same_but_for_the_triangles(cfg):
    cfg.nc.mlp_batchnorm = True
    torch.manual_seed(0)
    nc = model_of(cfg, 'ncgnnconv')
    gin = model_of(cfg, 'nc_ginconv')
    missing = nc.state_dict().keys() - gin.state_dict().keys()
    assert missing
    assert all('nn_communicate' in key for key in missing)
    assert params_count(nc) > params_count(gin)


SMALL = {
    'no triangle': (4, torch.tensor([[0, 1, 1, 2, 2, 3, 3, 0], [1, 0, 2, 1, 3, 2, 0, 3]])),
    'no edge': (3, torch.empty(2, 0, dtype=torch.long)),
    'one node': (1, torch.empty(2, 0, dtype=torch.long)),
    'one loop': (1, torch.tensor([[0], [0]])),
    'isolated nodes': (6, torch.tensor([[0, 1], [1, 0]])),
}


@pytest.mark.parametrize('name', SMALL)
@pytest.mark.parametrize('mlp_batchnorm', [True, False])
def test_without_triangles_it_is_gin(cfg, name, mlp_batchnorm):
    num_nodes, edge_index = SMALL[name]
    cfg.nc.mlp_batchnorm = mlp_batchnorm
    batch = Batch.from_data_list([graph(num_nodes, edge_index=edge_index)])
    cfg.gnn.batchnorm = False
    model, gin = model_of(cfg, 'ncgnnconv'), model_of(cfg, 'nc_ginconv')
    gin.load_state_dict(model.state_dict(), strict=False)
    if num_nodes == 1 and mlp_batchnorm:  # no layer can normalise over a single node
        model, gin = model.eval(), gin.eval()
    ours = step(model, batch)
    theirs = step(gin, batch)
    assert torch.equal(ours['pred_score'], theirs['pred_score'])
    assert torch.equal(ours['loss'], theirs['loss'])


@pytest.mark.parametrize(
    'change',
    [
        pytest.param(lambda e: torch.cat([e, e[:, :7]], dim=1), id='duplicates'),
        pytest.param(lambda e: torch.cat([e, torch.tensor([[0, 3], [0, 3]])], dim=1), id='loops'),
        pytest.param(lambda e: e[:, e[0] < e[1]], id='directed'),
    ],
)
def test_loops_duplicates_and_directed_edges(cfg, change):
    edge_index = dense_graph()
    changed = Batch.from_data_list([graph(edge_index=change(edge_index))])
    plain = Batch.from_data_list([graph(edge_index=edge_index)])
    # The triangles stay the same ...
    ours, theirs = incidence_of(changed).opposite, incidence_of(plain).opposite
    assert torch.equal(ours.rowptr, theirs.rowptr)
    assert torch.equal(ours.col, theirs.col)
    # ... while the sum over neighbours follows the edges, as in any layer of PyG.
    model = model_of(cfg).eval()
    a, b = step(model, changed)['pred_score'], step(model, plain)['pred_score']
    assert not torch.allclose(a, b)


def test_edge_attr_of_all_kinds(cfg):
    batch = Batch.from_data_list([graph(seed=i) for i in range(2)])
    size = batch.num_edges
    cfg.dataset.edge_dim = 3
    for edge_attr in (torch.randint(0, 2, (size, 3)), torch.randn(size, 3)):
        batch.edge_attr = edge_attr
        step(model_of(cfg, 'ncgnneconv'), batch)
    batch.edge_attr = torch.randn(size)
    with pytest.raises(ConfigError, match=r"set 'dataset.edge_dim: 1'"):
        step(model_of(cfg, 'ncgnneconv'), batch)
    cfg.dataset.edge_dim = 1
    step(model_of(cfg, 'ncgnneconv'), batch)


def test_without_edge_attr_they_are_zero(cfg):
    batch = Batch.from_data_list([graph()])
    cfg.dataset.edge_dim = 4
    model = model_of(cfg, 'ncgnneconv').eval()
    without = step(model, batch)['pred_score']
    batch.edge_attr = torch.zeros(batch.num_edges, 4)
    assert torch.equal(step(model, batch)['pred_score'], without)


@pytest.mark.parametrize('stage_type', ['stack', 'skipconcat'])
@pytest.mark.parametrize('node_encoder', [True, False])
def test_edge_encoder(cfg, stage_type, node_encoder):
    batch = Batch.from_data_list([graph(seed=i) for i in range(2)])
    batch.edge_attr = torch.randint(0, 2, (batch.num_edges, 3))
    cfg.dataset.edge_encoder, cfg.dataset.edge_encoder_bn = True, False
    cfg.dataset.node_encoder, cfg.dataset.node_encoder_name = node_encoder, 'LinearNode'
    cfg.share.dim_in = DIM_IN
    model = model_of(cfg, 'ncgnneconv', stage_type=stage_type, layers_mp=3)
    step(copy.deepcopy(model), batch)
    layer = model.mp.layer0.layer.model
    # No projection where the encoder has given the edges the width of the nodes.
    assert (layer.lin is None) == node_encoder


def test_init_weights_reaches_both_mlps(cfg):
    cfg.nc.mlp_batchnorm = True
    conv = model_of(cfg).mp.layer0.layer.model
    for nn in (conv.nn, conv.nn_communicate):
        assert nn[0].bias.eq(0).all()
        assert nn[1].weight.eq(1).all()


@pytest.mark.parametrize('pooling', ['add', 'mean', 'max'])
def test_graph_task(cfg, pooling):
    cfg.dataset.task, cfg.model.graph_pooling = 'graph', pooling
    data_list = [graph(seed=i) for i in range(4)]
    for i, data in enumerate(data_list):
        data.y = torch.tensor([i % 3])
    out = step(model_of(cfg), Batch.from_data_list(data_list))
    assert out['pred_score'].shape == (4, 3)


def test_link_prediction_sees_no_label_edges(cfg):
    cfg.dataset.task, cfg.model.edge_decoding = 'link_pred', 'dot'
    data = graph()
    data.train_edge_index = torch.tensor([[0, 1, 2], [3, 4, 5]])
    data.train_edge_label = torch.tensor([1.0, 0.0, 1.0])
    batch = Batch.from_data_list([data])
    model = model_of(cfg, dim_out=1).eval()
    first = step(model, batch)['pred_score']
    more = torch.tensor([[0, 1, 2, 6, 7], [3, 4, 5, 8, 0]])
    batch.train_edge_index, batch.train_edge_label = more, torch.ones(5)
    assert torch.equal(step(model, batch)['pred_score'][:3], first)
    incidence = TriangleIncidence.build(batch.edge_index, batch.num_nodes)
    assert incidence_of(batch).num_messages == incidence.num_messages


def cut_nodes(data):
    return data.subgraph(torch.arange(1, 7))


def cut_edges(data):
    return data.edge_subgraph(torch.arange(9))


def sample_random_nodes(data):
    return next(iter(RandomNodeLoader(data, num_parts=2, shuffle=True)))


@pytest.mark.parametrize('kernel', ['auto', 'numba', 'torch'])
@pytest.mark.parametrize('sample', [cut_nodes, cut_edges, sample_random_nodes])
def test_sampled_graphs_with_stale_triangles(cfg, sample, kernel):
    cfg.nc.kernel = kernel
    sampled = sample(AddTriangles()(graph()))
    assert 'triangle_index' in sampled
    fresh = sampled.clone()
    del fresh.triangle_index, fresh.triangle_check
    model = model_of(cfg).eval()
    ours = step(model, Batch.from_data_list([sampled]))
    theirs = step(model, Batch.from_data_list([fresh]))
    assert torch.equal(ours['pred_score'], theirs['pred_score'])


@pytest.mark.parametrize('kernel', ['torch', 'numba'])
def test_attached_triangles_are_used_where_torch_computes(cfg, kernel, monkeypatch):
    cfg.nc.kernel = kernel
    batch = Batch.from_data_list([AddTriangles()(graph(seed=i)) for i in range(3)])
    model = model_of(cfg).eval()
    expected = step(model, batch)['pred_score']
    if kernel == 'torch':
        monkeypatch.delattr('graphgym_nc.triangles.build.list_triangles')
    else:
        del batch.triangle_index
    torch.testing.assert_close(step(model, batch)['pred_score'], expected)


def test_a_kernel_that_cannot_be_used(cfg, monkeypatch):
    monkeypatch.setattr(kernels, '_triton_problem', lambda: 'there is none')
    cfg.nc.kernel = 'triton'
    with pytest.raises(ConfigError, match=r"'nc.kernel': .*there is none.*pip install"):
        model_of(cfg)


def count_builds(monkeypatch):
    calls = []
    build = TriangleIncidence.from_data

    def counted(data):
        calls.append(data)
        return build(data)

    monkeypatch.setattr(graphgym_nc.graphgym.layer.TriangleIncidence, 'from_data', counted)
    return calls


def test_layers_and_epochs_share_the_triangles(cfg, monkeypatch):
    calls = count_builds(monkeypatch)
    model = model_of(cfg, layers_mp=4)
    batch = Batch.from_data_list([graph(11, seed=77)])
    step(model, batch)
    assert len(calls) == 1
    step(model, Batch.from_data_list([graph(11, seed=77)]))  # the same graph, collated anew
    assert len(calls) == 1
    batch.edge_index[:, 0] = batch.edge_index[:, 1]  # changed in place
    step(model, batch)
    assert len(calls) == 2
    step(model, Batch.from_data_list([graph(11, seed=78)]))
    assert len(calls) == 3


@pytest.mark.parametrize('layer_type', ['ncgnnconv', 'nc_ginconv'])
def test_all_layers_together_look_at_the_edges_once(cfg, layer_type, monkeypatch):
    """Also in inference mode, where tensors do not note changes."""
    model = model_of(cfg, layer_type, layers_mp=4).eval()
    looks = []
    layers = graphgym_nc.graphgym.layer
    for owner, name in (
        (torch, 'equal'),
        (TriangleIncidence, 'from_data'),
        (layers, 'neighbours_by_kernels'),
    ):
        function = getattr(owner, name)
        counted = lambda *args, f=function: looks.append(f) or f(*args)  # noqa: E731
        monkeypatch.setattr(owner, name, counted)
    with torch.inference_mode():
        batch = Batch.from_data_list([graph(11, seed=77), graph(seed=3)])
        model(batch)
    assert len(looks) == 1


def test_nothing_is_kept_when_batches_and_layers_are_gone(cfg):
    model = model_of(cfg)
    batch = Batch.from_data_list([graph(11, seed=i) for i in range(2)])
    single = Batch.from_data_list([graph(11)])
    known = []
    for each in (batch, single):
        model(each)
        known.append(weakref.ref(each.triangle_incidence))
    del batch, single, each
    gc.collect()
    # Of a single graph, they stay with the layer.
    assert [ref() is None for ref in known] == [True, False]
    del model
    gc.collect()
    assert known[1]() is None


@pytest.mark.parametrize('layer_type', ['ncgnnconv', 'nc_ginconv'])
def test_a_layer_chooses_its_kernels_alone(cfg, layer_type, monkeypatch):
    """Neither another layer nor whoever else is in the process is told to do the same."""
    x = torch.ones(1)
    cfg.nc.kernel = 'torch'
    slow = model_of(cfg, layer_type)
    assert kernels.enabled(x)
    cfg.nc.kernel = 'auto'
    fast = model_of(cfg, layer_type)
    chosen = []
    for model in (slow, fast):
        (first, *_) = (m for m in model.modules() if isinstance(m, torch.nn.ReLU))
        first.register_forward_hook(lambda *_: chosen.append(kernels.enabled(x)))
        step(model, Batch.from_data_list([graph()]))
    assert chosen == [False, True]
    assert kernels.enabled(x)


def test_triangles_found_in_inference_mode_serve_in_training(cfg):
    model = model_of(cfg)
    batch = Batch.from_data_list([graph(12, seed=5)])
    with torch.inference_mode():
        model._shared_step(batch.clone(), 'train')
    step(model, batch)


EXAMPLE_NODE = {  # graphgym/configs/pyg/example_node.yaml of PyG, but for the layer and the epochs
    'dataset': {'format': 'PyG', 'task': 'node', 'task_type': 'classification'},
    'train': {'batch_size': 128, 'eval_period': 1, 'ckpt_period': 100, 'sampler': 'full_batch'},
    'model': {'type': 'gnn', 'loss_fun': 'cross_entropy', 'graph_pooling': 'add'},
    'gnn': {
        'layers_pre_mp': 0,
        'layers_mp': 2,
        'layers_post_mp': 1,
        'dim_inner': 16,
        'layer_type': 'ncgnnconv',
        'stage_type': 'stack',
        'batchnorm': False,
        'act': 'prelu',
        'dropout': 0.1,
        'agg': 'mean',
    },
    'optim': {'optimizer': 'adam', 'base_lr': 0.01, 'max_epoch': 40},
}


@pytest.mark.filterwarnings('ignore')  # what stock GraphGym and Lightning have to say
@pytest.mark.parametrize(('name', 'num_triangles'), [('Cora', 1630), ('CiteSeer', 1167)])
def test_pyg_example_with_stock_graphgym(
    cfg, planetoid_dir, name, num_triangles, monkeypatch, caplog
):
    for group, values in EXAMPLE_NODE.items():
        cfg[group].update(values)
    cfg.dataset.name, cfg.dataset.dir = name, str(planetoid_dir)
    assert_cfg(cfg)
    calls = count_builds(monkeypatch)
    torch.manual_seed(0)
    datamodule = GraphGymDataModule()
    model = create_model()
    cfg.params = params_count(model)
    with caplog.at_level(logging.ERROR):
        stock_train(model, datamodule)
    assert len(calls) == 1  # for all epochs, splits and layers
    batch = next(iter(datamodule.test_dataloader()))
    assert incidence_of(batch).num_messages == 3 * num_triangles
    with torch.no_grad():
        batch.split = 'test'
        pred, true = model.eval()(batch)
        _, score = compute_loss(pred, true)
    accuracy = (score.argmax(dim=-1) == true).float().mean()
    assert accuracy > 0.5  # seven and six classes


def gin_baseline(cfg):
    cfg.nc.mlp_batchnorm = False
    return model_of(cfg, 'nc_ginconv', layers_mp=2).model


@pytest.mark.parametrize('inference', [False, True])
def test_gin_baseline_with_kernels_is_that_of_pyg(cfg, inference):
    """Also when the edges change in the very same tensor."""
    model = gin_baseline(cfg).eval()
    with torch.inference_mode(inference):
        batch = Batch.from_data_list([graph(7), graph(9, seed=1)])
        x = batch.x
        for _ in range(2):
            ours = model(batch)[0]
            batch.x = x
            with kernels.use('torch'):
                theirs = model(batch)[0]
            batch.x = x
            torch.testing.assert_close(ours, theirs)
            batch.edge_index[:, :4] = 3


def test_gin_baseline_trains_on_what_it_has_seen_in_inference(cfg):
    model, batch = gin_baseline(cfg), Batch.from_data_list([graph()])
    x = batch.x
    with torch.inference_mode():
        model(batch)
    batch.x = x
    model(batch)[0].sum().backward()


@pytest.mark.parametrize('hook', ['register_forward_hook', 'register_message_forward_hook'])
def test_gin_baseline_leaves_to_pyg_what_others_look_at(cfg, hook):
    model, seen = gin_baseline(cfg), []
    for module in model.modules():
        if isinstance(module, GINConv):
            getattr(module, hook)(lambda *args: seen.append(True))
    model(Batch.from_data_list([graph()]))
    assert len(seen) == 2


@pytest.mark.filterwarnings('ignore:Sparse')
def test_gin_baseline_with_sparse_edges(cfg):
    model, batch = gin_baseline(cfg).eval(), Batch.from_data_list([graph()])
    expected = model(batch.clone())[0]
    batch.edge_index = to_torch_csr_tensor(batch.edge_index, size=(9, 9))
    torch.testing.assert_close(model(batch)[0], expected)
