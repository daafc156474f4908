"""What GraphGym's own networks get wrong, put right; and training functions of one's own."""

import pytest
import torch
from torch_geometric.data import Batch, Data
from torch_geometric.graphgym import register
from torch_geometric.graphgym.config import assert_cfg
from torch_geometric.graphgym.model_builder import create_model as stock_create_model
from torch_geometric.graphgym.models.head import GNNNodeHead

from graphgym_nc.graphgym.validation import ConfigError, check_cfg
from graphgym_nc.training.train import create_model
from tests.reference import dense_graph


def head(model):
    return next(m for m in model.modules() if isinstance(m, GNNNodeHead))


def scale_of_hidden_layer(model):
    """The norm of the head's hidden features, for inputs once and a hundred times as large."""
    hidden = head(model).layer_post_mp.model[0]
    for module in hidden.modules():
        if hasattr(module, 'bias') and module.bias is not None:
            torch.nn.init.zeros_(module.bias)
    x = torch.ones(2, 8)
    return [hidden(scale * x).norm(dim=1)[0].item() for scale in (1.0, 100.0)]


def test_heads_are_normalised_only_if_told(cfg):
    cfg.gnn.update(layers_post_mp=2, dim_inner=8, l2norm=False, layer_type='ncgnnconv')
    cfg.share.dim_in, cfg.share.dim_out = 4, 3
    assert_cfg(cfg)
    torch.manual_seed(0)
    small, large = scale_of_hidden_layer(stock_create_model())
    assert small == pytest.approx(large)  # GraphGym's fault
    torch.manual_seed(0)
    small, large = scale_of_hidden_layer(create_model())
    assert large == pytest.approx(100 * small, rel=1e-3)
    cfg.gnn.l2norm = True
    small, large = scale_of_hidden_layer(create_model())
    assert small == pytest.approx(1)
    assert large == pytest.approx(1)


def test_edge_encoder_normalises_edges(cfg):
    cfg.dataset.edge_encoder, cfg.gnn.dim_inner = True, 8
    cfg.gnn.layer_type, cfg.share.dim_in, cfg.share.dim_out = 'ncgnneconv', 5, 3
    assert_cfg(cfg)
    x = torch.randn(9, 5)
    edge_index = dense_graph()
    edge_attr = torch.randint(0, 2, (edge_index.size(1), 3))
    batch = Batch.from_data_list([Data(x=x, edge_index=edge_index, edge_attr=edge_attr)])
    with pytest.raises(RuntimeError):  # GraphGym's fault: eight columns expected of the nodes
        stock_create_model().model.encoder(batch.clone())
    out = create_model().model.encoder(batch.clone())
    assert torch.equal(out.x, x)
    torch.testing.assert_close(out.edge_attr.mean(dim=0), torch.zeros(8), atol=1e-5, rtol=0)


@pytest.mark.parametrize('options', [{'stage_type': 'skipsum'}, {'layers_mp': 0}])
def test_unequal_widths(cfg, options):
    cfg.gnn.update(dim_inner=8, **options)
    cfg.share.dim_in = 5
    assert_cfg(cfg)
    with pytest.raises(ConfigError, match=r"5 features .* set 'gnn.layers_pre_mp: 1'"):
        create_model()
    cfg.gnn.layers_pre_mp = 1
    create_model()


def test_training_function_of_ones_own(cfg, monkeypatch):
    assert_cfg(cfg)
    assert register.train_dict['standard'].__module__ == 'graphgym_nc.training.train'
    cfg.train.mode = 'mine'
    with pytest.raises(ConfigError, match=r"'train.mode' is 'mine', but must be one of standard"):
        check_cfg(cfg)
    monkeypatch.setitem(register.train_dict, 'mine', print)
    check_cfg(cfg)
