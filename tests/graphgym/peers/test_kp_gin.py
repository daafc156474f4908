import networkx as nx
import pytest
import torch
from torch_geometric.data import Batch, Data
from torch_geometric.graphgym.config import assert_cfg

from graphgym_nc.graphgym.preparation import preparation
from graphgym_nc.graphgym.validation import ConfigError
from graphgym_nc.nn.peers import KPGINConv
from graphgym_nc.structures.hops import Hops, KHops
from graphgym_nc.structures.peripheral import Peripheral
from graphgym_nc.training.train import create_model


@pytest.fixture(autouse=True)
def settings(cfg):
    cfg.model.type, cfg.model.graph_pooling = 'kp_gin', 'add'
    cfg.share.dim_in, cfg.share.dim_out = 3, 4
    cfg.dataset.task, cfg.dataset.task_type = 'graph', 'classification_multi'
    cfg.gnn.update(
        layers_mp=4, layers_post_mp=1, layers_pre_mp=0, dim_inner=12, batchnorm=True, l2norm=False
    )


def graphs():
    sizes = (6, 9)
    return [
        Data(
            x=torch.randn(n, 3, generator=torch.Generator().manual_seed(n)),
            edge_index=torch.tensor(sorted(nx.lollipop_graph(n - 3, 3).to_directed().edges)).t(),
            y=torch.zeros(1, dtype=torch.long),
        )
        for n in sizes
    ]


def created(cfg):
    assert_cfg(cfg)
    return create_model(), Batch.from_data_list([preparation()(graph) for graph in graphs()])


@pytest.mark.parametrize('variant', ['plain', 'plus', 'prime'])
@pytest.mark.parametrize('combine', ['geometric', 'attention'])
def test_graphs(cfg, variant, combine):
    cfg.peers.kp_gin.update(variant=variant, combine=combine, jk='concat', residual=True)
    model, batch = created(cfg)
    score, _ = model(batch)
    assert score.shape == (2, 4)
    score.sum().backward()
    assert all(p.grad is not None for p in model.parameters())
    assert model.model.model.variant == variant


def test_the_network_is_that_of_pyg_with_a_head(cfg):
    cfg.peers.kp_gin.max_walks = 5
    model, batch = created(cfg)
    model.eval()
    network = model.model
    nodes = network.model(batch.x, Hops.of(batch, preparation()))
    pooled = torch.stack([nodes[batch.batch == i].sum(dim=0) for i in (0, 1)])
    expected = network.post_mp.layer_post_mp(pooled)
    torch.testing.assert_close(model(batch)[0], expected)


def test_nodes(cfg):
    cfg.dataset.task, cfg.gnn.head = 'node', 'inductive_node'
    model, batch = created(cfg)
    batch.y = torch.zeros(15, dtype=torch.long)
    score, true = model(batch)
    assert score.shape == (15, 4)
    assert true is batch.y


def test_keys_of_the_structure(cfg):
    cfg.peers.kp_gin.update(
        hops=2, kernel='gd', max_walks=7, edge_types=3, closed_walks=True,
        max_types=2, max_edges=4, levels=6, max_pairs=8,
    )  # fmt: skip
    expected = KHops(2, 'gd', 7, 3, True, Peripheral(2, 4, 6, 8))
    assert repr(preparation()) == repr(expected)
    cfg.peers.kp_gin.peripheral = False
    assert repr(preparation()) == repr(KHops(2, 'gd', 7, 3, True, None))


def test_keys_of_the_network(cfg):
    cfg.peers.kp_gin.update(hops=2, max_walks=7, edge_types=3, closed_walks=True, max_edges=4)
    cfg.gnn.dropout, cfg.gnn.act = 0.3, 'elu'
    assert_cfg(cfg)
    model = create_model().model.model
    conv = model.convs[0]
    assert (conv.hops, len(model.convs), model.dropout.p) == (2, 4, 0.3)
    assert conv.sum.walk.num_embeddings == 7
    assert conv.sum.edge.num_embeddings == 3
    assert conv.closed.num_embeddings == 8
    assert model.peripheral.edges.sizes == [3, 5]
    assert isinstance(conv.act, torch.nn.ELU)
    cfg.peers.kp_gin.peripheral, cfg.gnn.batchnorm = False, False
    model = create_model().model.model
    assert model.peripheral is None
    assert isinstance(model.norms[0], torch.nn.Identity)


@pytest.mark.parametrize('network', ['gnn', 'jk_graph'])
@pytest.mark.parametrize('peripheral', [False, True])
def test_the_layer_alone(cfg, network, peripheral):
    cfg.model.type, cfg.gnn.layer_type = network, 'kp_ginconv'
    cfg.gnn.layers_pre_mp, cfg.peers.kp_gin.peripheral = 1, peripheral
    model, batch = created(cfg)
    score, _ = model(batch)
    assert score.shape == (2, 4)
    score.sum().backward()
    assert all(p.grad is not None for p in model.parameters())
    convs = [module for module in model.modules() if isinstance(module, KPGINConv)]
    assert len(convs) == 4
    assert isinstance(preparation(), KHops)


def test_widths_that_hops_do_not_divide(cfg):
    cfg.gnn.dim_inner = 13
    with pytest.raises(ConfigError, match=r"'gnn.dim_inner' is 13, but must be a multiple of"):
        created(cfg)
    cfg.peers.kp_gin.variant = 'plus'
    created(cfg)
    cfg.model.type, cfg.gnn.layer_type, cfg.share.dim_in = 'gnn', 'kp_ginconv', 5
    with pytest.raises(ConfigError, match=r"'gnn.dim_inner' is 13, but must be"):
        created(cfg)  # which features come through once they are encoded, or put through a layer
    cfg.gnn.dim_inner = 15
    with pytest.raises(ConfigError, match=r"is 5, but .*'peers.kp_gin.hops' \(3\).*layers_pre_mp"):
        created(cfg)


def test_kp_gin_plus_needs_as_many_layers_as_hops(cfg):
    cfg.peers.kp_gin.variant, cfg.gnn.layers_mp = 'plus', 2
    with pytest.raises(ConfigError, match=r"'gnn.layers_mp' is 2, but with 'peers.kp_gin.variant"):
        created(cfg)
