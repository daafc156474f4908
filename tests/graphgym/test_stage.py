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


class OGBGin(torch.nn.Module):
    """GIN with edge features as in OGB's example for ogbg-ppa, written out (mean pooling)."""

    def __init__(self, layers, width, classes):
        super().__init__()
        nn = torch.nn
        self.embedding = nn.Embedding(1, width)
        self.eps = nn.ParameterList(nn.Parameter(torch.zeros(1)) for _ in range(layers))
        self.edges = nn.ModuleList(nn.Linear(7, width) for _ in range(layers))
        self.mlps = nn.ModuleList(
            nn.Sequential(
                nn.Linear(width, 2 * width), nn.BatchNorm1d(2 * width), nn.ReLU(),
                nn.Linear(2 * width, width),
            )
            for _ in range(layers)
        )  # fmt: skip
        self.norms = nn.ModuleList(nn.BatchNorm1d(width) for _ in range(layers))
        self.head = nn.Linear(width, classes)

    def forward(self, batch):
        h = self.embedding.weight.expand(batch.num_nodes, -1)
        source, target = batch.edge_index
        for i, mlp in enumerate(self.mlps):
            message = (h[source] + self.edges[i](batch.edge_attr)).relu()
            total = torch.zeros_like(h).index_add(0, target, message)
            h = self.norms[i](mlp((1 + self.eps[i]) * h + total))
            if i < len(self.mlps) - 1:
                h = h.relu()
        sizes = batch.batch.bincount()
        pooled = h.new_zeros(len(sizes), h.size(1)).index_add(0, batch.batch, h)
        return self.head(pooled / sizes[:, None])


def test_network_of_ogb(cfg):
    cfg.dataset.node_encoder, cfg.dataset.node_encoder_name = True, 'PPANode'
    cfg.dataset.node_encoder_bn, cfg.dataset.edge_dim = False, 7
    cfg.dataset.task, cfg.model.graph_pooling = 'graph', 'mean'
    cfg.gnn.update(
        head='graph',
        stage_type='ogbstack',
        layer_type='nc_gineconv',
        layers_mp=3,
        layers_post_mp=1,
        dim_inner=6,
        l2norm=False,
    )
    cfg.nc.mlp_batchnorm, cfg.nc.mlp_expansion = True, 2
    ours, theirs = create_model(dim_in=1, dim_out=37), OGBGin(3, 6, 37)
    graphs = [
        Data(
            edge_index=dense_graph(n),
            edge_attr=torch.rand(dense_graph(n).size(1), 7),
            y=torch.zeros(1, 1, dtype=torch.long),
            num_nodes=n,
        )
        for n in (5, 9, 7)
    ]
    batch = Batch.from_data_list(graphs)
    with torch.no_grad():
        theirs.embedding.weight.copy_(ours.encoder.node_encoder.encoder.weight)
        theirs.head.load_state_dict(ours.post_mp.layer_post_mp.model[0].model.state_dict())
        for i, layer in enumerate(ours.mp.layers):
            conv = layer.layer.model
            conv.eps.fill_(0.1 * i)
            theirs.eps[i].fill_(0.1 * i)
            theirs.edges[i].load_state_dict(conv.lin.state_dict())
            theirs.mlps[i].load_state_dict(conv.nn.state_dict())
            theirs.norms[i].load_state_dict(layer.post_layer[0].state_dict())
    expected = theirs(batch.clone())
    torch.testing.assert_close(ours(batch)[0], expected)
