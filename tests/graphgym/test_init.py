import math

import pytest
import torch
from torch_geometric.graphgym.config import assert_cfg

from graphgym_nc.graphgym.layer import NCGNNConvLayer
from graphgym_nc.graphgym.validation import ConfigError, check_nc
from graphgym_nc.training.train import create_model

WIDTH = 64


def built(cfg, init):
    cfg.nc.init, cfg.nc.communicate_scale = init, 0.1
    cfg.share.dim_in, cfg.share.dim_out = WIDTH, 3
    cfg.gnn.layer_type, cfg.gnn.dim_inner = 'ncgnnconv', WIDTH
    cfg.nc.mlp_batchnorm = True
    assert_cfg(cfg)
    model = create_model()
    (layer, *_) = (m for m in model.modules() if isinstance(m, NCGNNConvLayer))
    return layer.model


@pytest.mark.parametrize(
    ('init', 'bound'),
    # Glorot and Bengio's, with the gain of ReLU; PyTorch's own.
    [('xavier', math.sqrt(2) * math.sqrt(6 / (2 * WIDTH))), ('torch', 1 / math.sqrt(WIDTH))],
)
def test_bounds_of_the_weights(cfg, init, bound):
    conv = built(cfg, init)
    for linear in (m for m in conv.nn.modules() if isinstance(m, torch.nn.Linear)):
        assert 0.98 * bound < linear.weight.abs().max() <= bound


@pytest.mark.parametrize('init', ['xavier', 'torch'])
def test_the_scale_of_mlp2_acts_once(cfg, init):
    conv = built(cfg, init)
    last = [m for m in conv.nn_communicate.modules() if hasattr(m, 'weight')][-1]
    first = conv.nn_communicate[0]
    largest = [m.weight.abs().max().item() for m in (first, last)]
    assert largest[1] == pytest.approx(0.1 * largest[0], rel=0.05)


def test_unknown_name(cfg):
    cfg.nc.init = 'pytorch'
    with pytest.raises(ConfigError, match="Did you mean 'torch'"):
        check_nc(cfg)
