import pytest
import torch
from torch_geometric.data import Batch, Data
from torch_geometric.graphgym.config import assert_cfg
from torch_geometric.graphgym.model_builder import create_model

from tests.reference import dense_graph


def graph_network(cfg, layer_type='nc_ginconv', dim_in=3, dim_out=4, dropout=0.0):
    cfg.model.type, cfg.model.graph_pooling = 'jk_graph', 'add'
    cfg.dataset.task, cfg.dataset.task_type = 'graph', 'classification_multi'
    cfg.gnn.update(
        layer_type=layer_type,
        layers_mp=4,
        layers_post_mp=1,
        dim_inner=8,
        dropout=dropout,
        batchnorm=False,
        l2norm=False,
    )
    cfg.nc.mlp_batchnorm = cfg.nc.mlp_final_act = True
    assert_cfg(cfg)
    return create_model(dim_in=dim_in, dim_out=dim_out)


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
