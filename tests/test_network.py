import pytest
import torch
from torch_geometric.data import Batch, Data
from torch_geometric.graphgym.config import assert_cfg
from torch_geometric.graphgym.model_builder import create_model

from tests.reference import dense_graph


def paper_network(cfg, layers, width, dim_in, dim_out, layer_type='ncgnnconv'):
    cfg.dataset.node_encoder, cfg.dataset.node_encoder_name = True, 'LinearNode'
    cfg.dataset.node_encoder_bn = False
    cfg.share.dim_in = dim_in
    cfg.gnn.update(
        head='inductive_node',
        stage_type='jkconcat',
        layer_type=layer_type,
        layers_mp=layers,
        layers_post_mp=1,
        dim_inner=width,
        batchnorm=False,
        l2norm=False,
    )
    cfg.nc.mlp_batchnorm = cfg.nc.mlp_final_act = True
    cfg.dataset.task_type = 'classification_multi'  # GraphGym: no single score for two classes
    assert_cfg(cfg)
    return create_model(dim_in=dim_in, dim_out=dim_out)


@pytest.mark.parametrize(
    ('layers', 'width', 'dim_in', 'dim_out', 'published'),
    [(4, 70, 3, 2, 106_756), (4, 154, 3, 2, 506_512), (4, 70, 7, 6, 107_320)],
)
def test_published_parameter_counts(cfg, layers, width, dim_in, dim_out, published):
    model = paper_network(cfg, layers, width, dim_in, dim_out)
    assert sum(p.numel() for p in model.parameters()) == published


def test_jumping_knowledge_sees_every_layer(cfg):
    model = paper_network(cfg, 3, 8, 5, 4)
    stage, seen = model.mp, []
    for layer in stage.layers:
        layer.register_forward_hook(lambda module, args, out: seen.append(out.x))
    stage.project.register_forward_pre_hook(lambda module, args: seen.append(args[0]))
    batch = Batch.from_data_list([Data(x=torch.randn(9, 5), edge_index=dense_graph())])
    encoded = model.encoder(batch.clone()).x
    batch.y = torch.zeros(9, dtype=torch.long)
    pred, true = model(batch)
    assert pred.shape == (9, 4)
    assert true.shape == (9,)
    *outputs, concatenated = seen
    assert torch.equal(concatenated, torch.cat([encoded, *outputs], dim=1))


def test_l2norm_acts_on_the_stage(cfg):
    model = paper_network(cfg, 2, 8, 5, 4)
    cfg.gnn.l2norm = True
    batch = Batch.from_data_list([Data(x=torch.randn(9, 5), edge_index=dense_graph())])
    out = model.mp(model.encoder(batch)).x
    norm = out.norm(dim=1)
    torch.testing.assert_close(norm[norm > 0], torch.ones_like(norm[norm > 0]))
