"""GraphGym's own runner prepares no graphs: all systems find what they need by themselves."""

import copy

import pytest
import torch
from torch_geometric.data import Batch, Data
from torch_geometric.graphgym.config import cfg as global_cfg

from graphgym_nc.graphgym.preparation import preparation
from graphgym_nc.training.run import load_config, parse_args
from graphgym_nc.training.train import create_model
from graphgym_nc.utils.packaged import packaged
from tests.reference import dense_graph

CONFIGS = [
    'cin_proteins', 'eb_gnn_proteins', 'gin_ak_plus_proteins', 'graph_snn_proteins',
    'k123_proteins', 'kp_gin_plus_proteins', 'kp_gin_proteins', 'nested_gin_proteins',
    'sat_proteins', 'sin_proteins',
]  # fmt: skip


def graphs():
    torch.manual_seed(0)
    return [
        Data(
            x=torch.eye(3)[torch.randint(3, (n,))], edge_index=dense_graph(n), y=torch.tensor([0])
        )
        for n in (5, 7)
    ]


def scores(model, data):
    return model(Batch.from_data_list(data))[0]


@pytest.mark.parametrize(
    ('config', 'options'),
    [*((name, []) for name in CONFIGS), ('sat_proteins', ['peers.sat.extractor', 'subgraph'])],
)
def test_a_batch_that_nobody_has_prepared(cfg, config, options):
    load_config(parse_args(['--cfg', str(packaged('configs', config)), *options]))
    global_cfg.share.dim_in, global_cfg.share.dim_out, global_cfg.share.num_splits = 3, 2, 2
    torch.manual_seed(0)
    model = create_model().eval()
    transform = preparation()
    prepared = [transform(copy.copy(graph)) for graph in graphs()]
    assert set(prepared[0].keys()) > set(graphs()[0].keys())
    global_cfg.peers.gin_ak.hops = global_cfg.peers.nested_gin.hops = 1  # after they were made
    global_cfg.peers.cin.max_ring, global_cfg.peers.sat.k = 4, 1
    with torch.no_grad():
        torch.testing.assert_close(scores(model, graphs()), scores(model, prepared))
