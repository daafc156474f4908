import pytest
import torch
from torch_geometric.data import Batch, Data
from torch_geometric.graphgym.config import assert_cfg
from torch_geometric.graphgym.model_builder import create_model

from graphgym_nc.graphgym.preparation import bytes_per_pair
from graphgym_nc.graphgym.validation import ConfigError
from graphgym_nc.nn.peers import PPGN, RingGNN
from tests.reference import dense_graph

NAMES = ['ppgn', 'ring_gnn']


def make(cfg, name, task='graph', layers=2):
    cfg.model.type, cfg.share.dim_in = name, 3
    cfg.dataset.task, cfg.dataset.task_type = task, 'classification_multi'
    cfg.gnn.update(layers_mp=layers, layers_post_mp=1, dim_inner=8)
    assert_cfg(cfg)
    return create_model(dim_in=3, dim_out=4).model


def two_graphs():
    generator = torch.Generator().manual_seed(0)
    graphs = [
        Data(
            x=torch.randn(size, 3, generator=generator),
            edge_index=dense_graph(size, seed=size),
            y=torch.zeros(1, dtype=torch.long),
        )
        for size in (6, 9)
    ]
    return Batch.from_data_list(graphs)


@pytest.mark.parametrize('name', NAMES)
@pytest.mark.parametrize('task', ['graph', 'node'])
def test_network_is_the_model(cfg, name, task):
    network, batch = make(cfg, name, task), two_graphs()
    score, true = network(batch.clone())
    assert score.shape == (2 if task == 'graph' else 15, 4)
    assert torch.equal(true, batch.y)
    expected = network.model(batch.x, batch.edge_index, batch.batch)
    torch.testing.assert_close(score, expected)


@pytest.mark.parametrize('name', NAMES)
def test_masked_nodes(cfg, name):
    network, batch = make(cfg, name, 'node'), two_graphs()
    batch.y, batch.split = torch.arange(15), 'val'
    whole, _ = network(batch.clone())
    batch.val_mask = torch.arange(15) % 3 == 0
    score, true = network(batch)
    assert true.tolist() == [0, 3, 6, 9, 12]
    torch.testing.assert_close(score, whole[true])


def test_keys_of_ppgn(cfg):
    cfg.peers.ppgn.update(mlp_layers=3, readout='sum', inputs='spread')
    model = make(cfg, 'ppgn').model
    assert isinstance(model, PPGN)
    assert (model.readout, model.inputs, len(model.blocks)) == ('sum', 'spread', 2)
    assert len(model.blocks[0].mlp1) == 6  # with activations
    assert model.lins[0].in_features == 16
    assert make(cfg, 'ppgn', 'node').model.readout == 'node'


def test_keys_of_ring_gnn(cfg):
    cfg.peers.ring_gnn.update(num_nodes=40.0, readout_width=32, inputs='adjacency')
    model = make(cfg, 'ring_gnn').model
    assert isinstance(model, RingGNN)
    assert model.inputs == 'adjacency'
    assert model.mlp.channel_list == [17, 32, 4]
    assert model.convs[0].k[1].item() == pytest.approx(0.0125)
    cfg.peers.ring_gnn.readout_width = 0
    assert make(cfg, 'ring_gnn').model.mlp.channel_list == [17, 8, 4, 4]


@pytest.mark.parametrize('name', NAMES)
def test_what_makes_no_sense(cfg, name):
    with pytest.raises(ConfigError, match=f"'link_pred', but 'model.type: {name}' is for"):
        make(cfg, name, 'link_pred')
    with pytest.raises(ConfigError, match=f"'gnn.layers_mp' is 0, but 'model.type: {name}' needs"):
        make(cfg, name, layers=0)
    cfg.peers[name].inputs = 'x'
    with pytest.raises(ConfigError, match=rf"'peers\.{name}\.inputs' is 'x', but must be one of"):
        make(cfg, name)


@pytest.mark.parametrize('name', NAMES)
def test_bytes_of_a_pair_are_what_the_backward_pass_keeps(cfg, name):
    """But for what grows with the nodes alone, and for the input."""
    network = make(cfg, name)
    size = 100
    graph = Data(
        x=torch.randn(size, 3), edge_index=dense_graph(size), y=torch.zeros(1, dtype=torch.long)
    )
    sizes = {}

    def pack(tensor):
        storage = tensor.untyped_storage()
        sizes[storage.data_ptr()] = tensor, storage.nbytes()  # kept, so that none is used again
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        network(Batch.from_data_list([graph]))[0].sum().backward()
    kept = sum(nbytes for _, nbytes in sizes.values()) / size**2
    assert bytes_per_pair() == pytest.approx(kept, rel=0.2)


def test_other_networks_keep_no_pairs(cfg):
    cfg.model.type = 'gnn'
    assert bytes_per_pair() == 0
