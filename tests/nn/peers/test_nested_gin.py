import copy
import pickle

import pytest
import torch
from hypothesis import given, settings
from torch.nn import Linear, Sequential, Tanh
from torch_geometric.data import Batch, Data
from torch_geometric.nn import GCNConv, GINConv, GINEConv

from graphgym_nc.nn.peers import NestedGNN
from graphgym_nc.nn.peers.nested_gin import node_labels
from graphgym_nc.structures.subgraphs import EgoNets, Subgraphs
from tests.reference import dense_graph, graphs
from tests.structures.test_subgraphs import naive_ego_net

D, HOPS = 3, 2


def smooth_gin(dim_in, dim_out):
    return GINConv(Sequential(Linear(dim_in, dim_out), Tanh()), train_eps=True)


def naive_labels(data, distance, labels):
    """Rows of labels, node by node."""
    edges = data.edge_index.t().tolist()
    for u, d in distance.items():
        ways = sum(s == u and distance.get(t) == d - 1 for s, t in edges)
        yield [d] if labels == 'hop' else [d + 1, d + 1 if ways > 1 else 0]


def naive(model, data, x, hops=HOPS):
    """One subgraph after the other, with a dense matrix each."""
    out = []
    for root in range(data.num_nodes):
        distance = naive_ego_net(data, root, hops)
        nodes = [*distance]
        place = {node: i for i, node in enumerate(nodes)}
        adjacency = torch.zeros(len(nodes), len(nodes), dtype=x.dtype)
        for u, v in data.edge_index.t().tolist():
            if u in place and v in place:
                adjacency[place[v], place[u]] += 1
        h = x[nodes]
        if model.embedding is not None:
            labels = torch.tensor([*naive_labels(data, distance, model.labels)])
            h = torch.cat([model.embedding(labels).sum(dim=1), h], dim=1)
        layers = []
        for conv in model.convs:
            h = conv.nn((1 + conv.eps) * h + adjacency @ h)
            layers.append(h)
        out.append(torch.cat(layers, dim=1).mean(dim=0))
    return torch.stack(out)


def prepared(edge_index, num_nodes, hops=HOPS):
    return EgoNets(hops)(Data(edge_index=edge_index, num_nodes=num_nodes))


@settings(max_examples=25)
@given(graphs())
@pytest.mark.parametrize('labels', ['none', 'hop', 'spd'])
def test_equals_naive_reference(labels, graph):
    torch.manual_seed(0)
    data = prepared(*graph)
    model = NestedGNN(D, 5, 3, smooth_gin, labels, HOPS).double()
    x = torch.randn(data.num_nodes, D, dtype=torch.double, requires_grad=True)
    weight = torch.randn(data.num_nodes, model.out_channels, dtype=torch.double)
    results = []
    for out in (model(x, Subgraphs.of(data)), naive(model, data, x)):
        inputs = [x, *model.parameters()]
        results.append([out, *torch.autograd.grad((out * weight).sum(), inputs)])
    for ours, theirs in zip(*results, strict=True):
        torch.testing.assert_close(ours, theirs)


def test_labels_by_hand():
    # A square 0-1-3-2-0: two ways lead from 3 to 0. Node 4 hangs on 3.
    edges = torch.tensor([[0, 0, 1, 2, 3], [1, 2, 3, 3, 4]])
    data = prepared(torch.cat([edges, edges.flip(0)], dim=1), 5, hops=3)
    subgraphs = Subgraphs.of(data)
    of_first = subgraphs.root_index == 0
    assert node_labels(subgraphs, 'hop', 3)[of_first].tolist() == [[0], [1], [1], [2], [3]]
    expected = [[1, 0], [2, 0], [2, 0], [3, 3], [4, 0]]
    assert node_labels(subgraphs, 'spd', 3)[of_first].tolist() == expected
    assert node_labels(subgraphs, 'hop', 1)[of_first].tolist() == [[0], [1], [1], [2], [2]]
    subgraphs.hop[of_first.nonzero()[4]] = -1
    assert node_labels(subgraphs, 'hop', 3)[of_first].tolist()[4] == [4]
    assert (
        int(node_labels(subgraphs, 'spd', 3).max())
        < NestedGNN(1, 1, 1, None, 'spd', 3).embedding.num_embeddings
    )


def test_any_layer_of_pyg():
    data = prepared(dense_graph(7, 0.4), 7)
    x, subgraphs = torch.randn(7, D), Subgraphs.of(data)
    assert NestedGNN(D, 4, 2, GCNConv)(x, subgraphs).shape == (7, 8)
    edge_attr = torch.randn(data.num_edges, 2)

    def gine(dim_in, dim_out):
        return GINEConv(Linear(dim_in, dim_out), edge_dim=2)

    model = NestedGNN(D, 4, 2, gine)
    out = model(x, subgraphs, edge_attr)
    assert not torch.allclose(out, model(x, subgraphs, edge_attr.flip(0)))


def test_default_is_the_gin_of_the_paper():
    model = NestedGNN(D, 32, 4, labels='spd', hops=3)
    first = (D + 8) * 32 + 32 + 32 * 32 + 32 + 4 * 32 + 1
    others = 3 * (2 * (32 * 32 + 32) + 4 * 32 + 1)
    assert sum(p.numel() for p in model.parameters()) == first + others + 8 * 6
    assert str(model) == "NestedGNN(3, 32, num_layers=4, labels='spd')"
    assert model.out_channels == 128
    before = copy.deepcopy(model.state_dict())
    model.reset_parameters()
    for name in ('embedding.weight', 'convs.3.nn.lins.1.weight'):
        assert not torch.equal(before[name], model.state_dict()[name])
    with pytest.raises(ValueError, match="'labels' must be one of none, hop, spd"):
        NestedGNN(D, 4, 2, labels='drnl')


@settings(max_examples=20)
@given(graphs(min_nodes=2))
def test_permutation_equivariance(graph):
    edge_index, num_nodes = graph
    torch.manual_seed(0)
    model = NestedGNN(D, 4, 3, smooth_gin, 'spd', HOPS).double()
    x, perm = torch.randn(num_nodes, D, dtype=torch.double), torch.randperm(num_nodes)
    out = model(x, Subgraphs.of(prepared(edge_index, num_nodes)))
    moved = prepared(perm[edge_index].flip(1), num_nodes)
    torch.testing.assert_close(model(x[perm.argsort()], Subgraphs.of(moved)), out[perm.argsort()])


def test_batched_equals_single():
    model = NestedGNN(D, 4, 2, smooth_gin, 'hop', HOPS).double()
    data = [prepared(dense_graph(n, 0.4, seed=n), n) for n in (5, 1, 8)]
    for one in data:
        one.x = torch.randn(one.num_nodes, D, dtype=torch.double)
    batch = Batch.from_data_list(data)
    single = torch.cat([model(one.x, Subgraphs.of(one)) for one in data])
    torch.testing.assert_close(model(batch.x, Subgraphs.of(batch)), single)


def test_gradcheck_pickle_and_bfloat16():
    data = prepared(dense_graph(5, 0.5), 5)
    model, subgraphs = NestedGNN(2, 3, 2, smooth_gin, 'hop', HOPS).double(), Subgraphs.of(data)
    x = torch.randn(5, 2, dtype=torch.double, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: model(x, subgraphs), (x,))
    copied = pickle.loads(pickle.dumps(model))
    assert torch.equal(copied(x, subgraphs), model(x, subgraphs))
    half = model.bfloat16()(x.bfloat16(), subgraphs)
    torch.testing.assert_close(half.double(), copied(x, subgraphs), rtol=0.1, atol=0.1)


def test_meta_device():
    subgraphs = Subgraphs.of(prepared(dense_graph(5), 5).to('meta'))
    model = NestedGNN(D, 4, 2, labels='spd').to('meta')
    out = model(torch.randn(5, D, device='meta', requires_grad=True), subgraphs)
    out.sum().backward()
    assert out.shape == (5, 8)
