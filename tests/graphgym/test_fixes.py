import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.graphgym.models.gnn import FeatureEncoder
from torch_geometric.graphgym.models.layer import MLP, GeneralLayer, new_layer_config

from graphgym_nc.graphgym.fixes import mend


@pytest.mark.parametrize('l2norm', [True, False])
def test_hidden_layers_of_a_head_are_normalised_only_if_asked_for(cfg, l2norm):
    cfg.gnn.l2norm = l2norm
    head = MLP(new_layer_config(4, 2, 3, has_act=False, has_bias=True, cfg=cfg))
    hidden = next(module for module in head.modules() if isinstance(module, GeneralLayer))
    mend(head)
    norms = hidden(torch.randn(5, 4)).norm(dim=1)
    assert torch.allclose(norms, torch.ones(5)) == l2norm


def test_encoded_edges_are_normalised_and_nodes_left_alone(cfg):
    class Encoder(torch.nn.Module):
        def __init__(self, dim: int) -> None:
            super().__init__()

        def forward(self, batch: Data) -> Data:
            return batch

    cfg.gnn.dim_inner, cfg.dataset.node_encoder = 3, False
    cfg.dataset.edge_encoder, cfg.dataset.edge_encoder_bn = False, True
    encoder = FeatureEncoder(3)
    encoder.edge_encoder, encoder.edge_encoder_bn = Encoder(3), torch.nn.Identity()
    mend(encoder)
    x, edge_attr = torch.randn(4, 3), 5 + 2 * torch.randn(6, 3)
    batch = encoder(Data(x=x.clone(), edge_attr=edge_attr.clone()))
    assert torch.equal(batch.x, x)
    expected = (edge_attr - edge_attr.mean(0)) / edge_attr.var(0, unbiased=False).sqrt()
    assert torch.allclose(batch.edge_attr, expected, atol=1e-4)
