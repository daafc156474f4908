from itertools import combinations

import networkx as nx
import pytest
import torch
from torch_geometric.nn import GINConv

from graphgym_nc.nn import NCGNNConv
from graphgym_nc.wl import distinguishes, wl_classes
from graphgym_nc.wl.brec import load_brec
from graphgym_nc.wl.encoder import GraphEncoder, embedding_classes
from graphgym_nc.wl.expressiveness import atlas
from graphgym_nc.wl.networks import random_embeddings
from tests.wl.naive import permuted, rook, shrikhande

ALGORITHM = {'gin': '1-wl', 'nc': 'nc-1-wl', 'nc_lean': 'nc-1-wl'}

# A network's rounding errors must be so many times smaller than its smallest
# difference between graphs that are parted, for the verdict to mean anything.
GAP = 1e6


def describe(graph) -> str:
    return graph if isinstance(graph, str) else nx.to_graph6_bytes(graph, header=False).decode()


def assert_gap(graphs, distance, same):
    """Equal graphs are far closer than different ones; or else names a pair."""
    closest = torch.where(same, torch.inf, distance)
    farthest = torch.where(same, distance, -torch.inf)
    for worst, wrong in (
        (int(farthest.argmax()), farthest.max() > 1e-10),
        (int(closest.argmin()), closest.min() < 1e-5),
    ):
        i, j = divmod(worst, len(graphs))
        assert not wrong, (
            f'{describe(graphs[i])} and {describe(graphs[j])} are at distance '
            f'{float(distance[i, j]):.1e}'
        )
    assert closest.min() > GAP * farthest.max()


@pytest.mark.parametrize('seed', [0, 1])
@pytest.mark.parametrize('model', ALGORITHM)
def test_theorem_3_on_the_atlas(model, seed):
    graphs = atlas()
    graphs += [permuted(graph, seed=i) for i, graph in enumerate(graphs)]
    # The atlas has no pair that NC-1-WL does not part.
    graphs += [nx.disjoint_union(nx.cycle_graph(4), nx.cycle_graph(4)), nx.cycle_graph(8)]
    graphs += [shrikhande(), rook()]
    embeddings = random_embeddings(graphs, model, seed)
    classes = torch.tensor(wl_classes(graphs, ALGORITHM[model]))
    same = classes[:, None] == classes
    assert_gap(graphs, torch.cdist(embeddings, embeddings, p=torch.inf), same)

    found = torch.tensor(embedding_classes(embeddings))
    assert torch.equal(found[:, None] == found, same)


@pytest.mark.parametrize('model', ALGORITHM)
def test_theorem_3_on_brec(model, shared_data):
    pairs = [pair for pairs in load_brec(shared_data / 'brec').values() for pair in pairs]
    embeddings = random_embeddings([graph for pair in pairs for graph in pair], model)
    distance = (embeddings[::2] - embeddings[1::2]).abs().amax(dim=1)
    parted = torch.tensor([distinguishes(*pair, ALGORITHM[model]) for pair in pairs])
    wrong = ((distance > 1e-8) != parted).nonzero().flatten().tolist()
    assert not wrong, [(pairs[i], float(distance[i])) for i in wrong]
    assert distance[~parted].max() < 1e-10
    assert bool(parted.any()) == (model != 'gin')
    assert (distance[parted] > GAP * distance[~parted].max()).all()


def test_a_mean_does_not_count():
    """Two graphs in which all nodes have four neighbours, with two or three edges among them. On
    equal features, all messages are equal, and so are their means.
    """
    graphs = [nx.from_graph6_bytes(text) for text in (b'FzM]W', b'FFzn_')]
    assert [sorted(nx.triangles(graph).values()) for graph in graphs] == [
        [3] * 7, [2, 2, 2, 3, 3, 3, 3],
    ]  # fmt: skip
    assert distinguishes(*graphs, 'nc-1-wl')
    for model, parted in (('nc', True), ('nc_lean', True), ('nc_mean', False)):
        first, second = embedding_classes(random_embeddings(graphs, model))
        assert (first != second) == parted, model


def test_neighbourhoods_of_equally_many_triangles():
    # The paper's example: v = 0 has four neighbours i, j, p, q and two edges
    # among them, ij and ip, or ij and pq. One layer looks at no more than that.
    torch.manual_seed(0)
    mlp = [torch.nn.Sequential(torch.nn.Linear(5, 5), torch.nn.Tanh()) for _ in range(2)]
    nc, gin = NCGNNConv(*mlp).double(), GINConv(mlp[0]).double()
    star = [(0, 1), (0, 2), (0, 3), (0, 4)]
    out = []
    for edges in ([(1, 2), (1, 3)], [(1, 2), (3, 4)]):
        edge_index = torch.tensor([*star, *edges]).t()
        edge_index = torch.cat([edge_index, edge_index.flip(0)], dim=1)
        x = torch.eye(5, dtype=torch.double)
        out.append((nc(x, edge_index)[0], gin(x, edge_index)[0]))
    torch.testing.assert_close(out[0][1], out[1][1])
    assert (out[0][0] - out[1][0]).abs().max() > 1e-3


def test_embeddings_depend_on_the_seed_alone():
    first, second = (random_embeddings(['DQc', 'Bw'], 'nc', seed=5) for _ in range(2))
    assert torch.equal(first, second)
    assert not torch.allclose(first, random_embeddings(['DQc', 'Bw'], 'nc', seed=6))


def test_embedding_classes_against_all_pairs():
    torch.manual_seed(0)
    z = torch.randint(0, 3, (60, 2)).double()
    z = z + 1e-10 * torch.rand_like(z)
    classes = embedding_classes(z)
    for i, j in combinations(range(60), 2):
        near = bool(((z[i] - z[j]).abs() <= 1e-8).all())
        assert (classes[i] == classes[j]) == near


def test_embedding_classes_are_transitive():
    z = torch.tensor([[0.0], [2.0], [0.9e-8], [1.8e-8]], dtype=torch.double)
    assert embedding_classes(z) == [0, 1, 0, 0]


def test_encoder():
    encoder = GraphEncoder(channels=8, num_layers=2, out_channels=3)
    assert len(encoder.convs) == 2
    assert {type(conv) for conv in encoder.convs} == {NCGNNConv}
