import copy
import pickle

import pytest
import torch
from hypothesis import given, settings
from torch_geometric.data import Batch, Data

from graphgym_nc.nn.peers import GINAKConv
from graphgym_nc.nn.peers.gin_ak import NUM_HOPS
from graphgym_nc.structures.subgraph_drop import keep_roots
from graphgym_nc.structures.subgraphs import EgoNets, Subgraphs
from tests.reference import dense_graph, graphs
from tests.structures.test_subgraphs import naive_ego_net

D, H, HOPS = 4, 3, 2
SMOOTH = {'act': 'tanh', 'norm': None}
#: GIN-AK, GIN-AK+, and all else that can be chosen.
KINDS = {
    'ak': {'hop_channels': 0, 'context': False},
    'ak parallel': {'hop_channels': 0, 'context': False, 'parallel': True},
    'plus': {'hop_channels': 2},
    'plus parallel': {'hop_channels': 2, 'parallel': True, 'num_layers': 2, 'mlp_layers': 2},
    'add': {'hop_channels': 2, 'combine': 'add', 'parallel': True},
    'mean': {'hop_channels': 2, 'pooling': 'mean'},
    'edges': {'hop_channels': 2, 'edge_dim': 2, 'parallel': True},
}


def prepared(edge_index, num_nodes, hops=HOPS):
    return EgoNets(hops)(Data(edge_index=edge_index, num_nodes=num_nodes))


def naive_gine(conv, rows, edges):
    """Edges are triples of sender, receiver and vector."""
    out = [(1 + conv.eps) * row for row in rows]
    for sender, receiver, vector in edges:
        out[receiver] = out[receiver] + conv.act(rows[sender] + vector)
    return conv.nn(torch.stack(out))


def pooled(rows, pooling, like):
    total = sum(rows, torch.zeros_like(like))
    return total / max(len(rows), 1) if pooling == 'mean' else total


def naive(conv, data, x, edge_attr=None):
    """One subgraph after the other, one node after the other."""
    ends = data.edge_index.t().tolist()
    if edge_attr is None:
        vectors = [conv.edge_encoder.weight[0]] * len(ends)
    else:
        vectors = [*conv.edge_encoder(edge_attr)] if ends else []
    centroid, of_subgraph, inside = [], [], [[] for _ in range(data.num_nodes)]

    def gated(name, row, distance):
        if conv.hop_embedding is None:
            return row
        return row * conv.gates[name](conv.hop_embedding.weight[distance + 1]).sigmoid()

    for root in range(data.num_nodes):
        distance = naive_ego_net(data, root, HOPS)
        place = {node: i for i, node in enumerate(distance)}
        edges = [
            (place[u], place[v], vector)
            for (u, v), vector in zip(ends, vectors, strict=True)
            if u in place and v in place
        ]
        rows = x[[*distance]]
        if conv.hop_embedding is not None:
            hops = torch.tensor([*distance.values()])
            rows = torch.cat([rows, conv.hop_embedding.weight[hops + 1]], dim=1)
        for layer in conv.convs:
            rows = rows + conv.act(naive_gine(layer, rows, edges))
        rows = conv.lin(rows)
        centroid.append(gated('centroid', rows[place[root]], 0))
        parts = []
        for node, i in place.items():
            row = conv.transforms['subgraph'](rows[i])
            parts.append(gated('subgraph', row, distance[node]))
            if conv.context:
                row = conv.transforms['context'](rows[i])
                inside[node].append(gated('context', row, distance[node]))
        of_subgraph.append(pooled(parts, conv.pooling, parts[0]))
    parts = [torch.stack(centroid), torch.stack(of_subgraph)]
    if conv.context:
        parts.append(torch.stack([pooled(rows, conv.pooling, rows[0]) for rows in inside]))
    out = sum(parts) if conv.out is None else conv.out(torch.cat(parts, dim=1))
    if conv.parallel is not None:
        edges = [(u, v, w[:D]) for (u, v), w in zip(ends, vectors, strict=True)]
        out = out + naive_gine(conv.parallel, x, edges)
    return out


@settings(max_examples=12)
@given(graphs(max_nodes=8))
@pytest.mark.parametrize('kind', KINDS)
def test_equals_naive_reference(kind, graph):
    torch.manual_seed(0)
    data, options = prepared(*graph), KINDS[kind]
    conv = GINAKConv(D, H, **options, **SMOOTH).double()
    x = torch.randn(data.num_nodes, D, dtype=torch.double, requires_grad=True)
    inputs = [x, *conv.parameters()]
    edge_attr = ()
    if 'edge_dim' in options:
        edge_attr = (torch.randn(data.num_edges, 2, dtype=torch.double, requires_grad=True),)
        inputs += edge_attr
    weight = torch.randn(data.num_nodes, H, dtype=torch.double)
    results = []
    for out in (
        conv(x, data.edge_index, Subgraphs.of(data), *edge_attr),
        naive(conv, data, x, *edge_attr),
    ):
        grads = torch.autograd.grad(
            (out * weight).sum(), inputs, allow_unused=True, materialize_grads=True
        )
        results.append([out, *grads])
    for ours, theirs in zip(*results, strict=True):
        torch.testing.assert_close(ours, theirs)


def count(q, h, p, inner=1, mlp=2, edges=2, context=True, parallel=True):
    """Parameters of a layer with BatchNorm, term by term, after PEERS' derivation."""
    parts = 3 if context else 2
    gine = 2 * q * q + 2 * q + 1
    total = edges * q + inner * (gine + 2 * q)
    total += (q * h + h) * (q != h) + (parts - 1) * mlp * (h * h + 2 * h)
    total += (mlp - 1) * ((parts * h) ** 2 + 2 * parts * h) + parts * h * h
    total += (NUM_HOPS * p + parts * (p * h + h)) * (p > 0)
    return total + (2 * h * h + 2 * h + 1) * parallel


@pytest.mark.parametrize('h', [38, 80])
def test_parameters(h):
    conv = GINAKConv(h, h, 16, mlp_layers=2, parallel=True, edge_types=2)
    assert sum(p.numel() for p in conv.parameters()) == count(h + 16, h, 16)
    conv = GINAKConv(h, h, 0, context=False)
    expected = count(h, h, 0, mlp=1, edges=1, context=False, parallel=False)
    assert sum(p.numel() for p in conv.parameters()) == expected
    assert str(conv) == f'GINAKConv({h}, {h}, hop_channels=0, context=False, num_layers=1)'


def test_reset_parameters():
    conv = GINAKConv(D, H, parallel=True)
    before = copy.deepcopy(conv.state_dict())
    for parameter in conv.parameters():
        parameter.data.fill_(7.0)
    conv.reset_parameters()
    for name, parameter in conv.named_parameters():
        assert not (parameter == 7).any(), name
    assert conv.state_dict().keys() == before.keys()


@pytest.mark.parametrize('kind', KINDS)
def test_with_all_roots_chosen_nothing_is_dropped(kind):
    torch.manual_seed(0)
    data = prepared(dense_graph(9, 0.3), 9)
    conv, x = GINAKConv(D, H, **KINDS[kind], **SMOOTH).double(), torch.randn(9, D).double()
    edge_attr = (torch.randn(data.num_edges, 2).double(),) if kind == 'edges' else ()
    subgraphs = Subgraphs.of(data)
    kept = keep_roots(subgraphs, torch.ones(9, dtype=torch.bool), data.edge_index)
    assert kept.est_index is not None
    whole = conv(x, data.edge_index, subgraphs, *edge_attr)
    torch.testing.assert_close(conv(x, data.edge_index, kept, *edge_attr), whole)


def test_dropped_subgraphs_by_hand():
    # On a path 0 - 1 - 2 with the subgraph of 0 alone (of all nodes, 2 hops), centroid and
    # subgraph of 0 serve for 1 and 2; the context counts thrice.
    data = prepared(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), 3)
    conv, x = GINAKConv(D, H, 2, combine='add', **SMOOTH).double(), torch.randn(3, D).double()
    kept = keep_roots(Subgraphs.of(data), torch.tensor([True, False, False]), data.edge_index)
    rows = torch.cat([x, conv.hop_embedding.weight[[1, 2, 3]]], dim=1)
    edge = conv.edge_encoder.weight[0]
    edges = [(u, v, edge) for u, v in data.edge_index.t().tolist()]
    rows = conv.lin(rows + conv.act(naive_gine(conv.convs[0], rows, edges)))

    def gates(name):
        return conv.gates[name](conv.hop_embedding.weight[[1, 2, 3]]).sigmoid()

    shared = rows[0] * gates('centroid')[0]
    shared = shared + (conv.transforms['subgraph'](rows) * gates('subgraph')).sum(dim=0)
    expected = shared + 3 * conv.transforms['context'](rows) * gates('context')
    torch.testing.assert_close(conv(x, data.edge_index, kept), expected)


@settings(max_examples=15)
@given(graphs(min_nodes=2))
def test_permutation_equivariance(graph):
    edge_index, num_nodes = graph
    torch.manual_seed(0)
    conv = GINAKConv(D, H, parallel=True, **SMOOTH).double()
    x, perm = torch.randn(num_nodes, D, dtype=torch.double), torch.randperm(num_nodes)
    out = conv(x, edge_index, Subgraphs.of(prepared(edge_index, num_nodes)))
    moved = prepared(perm[edge_index].flip(1), num_nodes)
    again = conv(x[perm.argsort()], moved.edge_index, Subgraphs.of(moved))
    torch.testing.assert_close(again, out[perm.argsort()])


def test_batched_equals_single():
    conv = GINAKConv(D, H, parallel=True).double().eval()
    data = [prepared(dense_graph(n, 0.4, seed=n), n) for n in (5, 1, 8)]
    for one in data:
        one.x = torch.randn(one.num_nodes, D, dtype=torch.double)
    batch = Batch.from_data_list(data)
    single = torch.cat([conv(one.x, one.edge_index, Subgraphs.of(one)) for one in data])
    torch.testing.assert_close(conv(batch.x, batch.edge_index, Subgraphs.of(batch)), single)


def test_gradcheck_pickle_and_bfloat16():
    data = prepared(dense_graph(5, 0.5), 5)
    conv, subgraphs = GINAKConv(2, 2, 2, parallel=True, **SMOOTH).double(), Subgraphs.of(data)
    x = torch.randn(5, 2, dtype=torch.double, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: conv(x, data.edge_index, subgraphs), (x,))
    copied = pickle.loads(pickle.dumps(conv))
    expected = conv(x, data.edge_index, subgraphs)
    assert torch.equal(copied(x, data.edge_index, subgraphs), expected)
    half = conv.bfloat16()(x.bfloat16(), data.edge_index, subgraphs)
    torch.testing.assert_close(half.double(), expected, rtol=0.1, atol=0.2)


def test_meta_device():
    data = prepared(dense_graph(5), 5)
    subgraphs = Subgraphs.of(data.to('meta'))
    conv = GINAKConv(D, H, parallel=True, edge_dim=2).to('meta')
    x, edge_attr = (torch.randn(n, k, device='meta') for n, k in ((5, D), (data.num_edges, 2)))
    conv(x, data.edge_index, subgraphs, edge_attr).sum().backward()
    cpu = Subgraphs.of(prepared(dense_graph(5), 5))
    subgraphs.__dict__['adjacency'] = cpu.adjacency.to('meta')  # found once, for all layers
    conv = GINAKConv(D, H).to('meta')
    out = conv(x, data.edge_index, subgraphs)
    out.sum().backward()
    assert out.shape == (5, H)


def test_edge_features_that_are_missing():
    data = prepared(dense_graph(5), 5)
    with pytest.raises(ValueError, match="'edge_dim' asks for 'edge_attr'"):
        GINAKConv(D, H, edge_dim=2)(torch.randn(5, D), data.edge_index, Subgraphs.of(data))
