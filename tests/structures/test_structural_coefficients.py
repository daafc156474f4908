import networkx as nx
import pytest
import torch
from hypothesis import given, settings
from torch_geometric.data import Batch, Data
from torch_geometric.utils import from_networkx

from graphgym_nc import kernels
from graphgym_nc.structures import structural_coefficients as module
from graphgym_nc.structures.structural_coefficients import clique_counts
from graphgym_nc.transforms import StructuralCoefficients
from graphgym_nc.triangles.simple_graph import simple_graph
from tests.reference import graphs

KERNELS = ('auto', 'torch')


def naive(edge_index, num_nodes, power):
    """A dense matrix, entry (v, u) for what v hears from u: from induced subgraphs."""
    graph = nx.Graph()
    graph.add_nodes_from(range(num_nodes))
    graph.add_edges_from((u, v) for u, v in edge_index.t().tolist() if u != v)
    weight = torch.zeros(num_nodes, num_nodes, dtype=torch.double)
    for u, v in edge_index.t().tolist():
        if u != v:
            overlap = graph.subgraph(({u} | set(graph[u])) & ({v} | set(graph[v])))
            n, e = overlap.number_of_nodes(), overlap.number_of_edges()
            weight[v, u] = e / (n * (n - 1)) * n**power
    rows = weight.sum(dim=1, keepdim=True).clamp(min=1e-9)
    return torch.where(weight > 0, 1 + weight / rows, 0)


@pytest.mark.parametrize('kernel', KERNELS)
@pytest.mark.parametrize('power', [1.0, 2.0])
@given(graph=graphs())
@settings(max_examples=40)
def test_equals_induced_subgraphs(kernel, power, graph):
    edge_index, num_nodes = graph
    with kernels.use(kernel):
        weight = module.structural_coefficients(edge_index, num_nodes, power)
    assert weight.dtype == torch.double
    dense = torch.zeros(num_nodes, num_nodes, dtype=torch.double)
    dense.index_put_((edge_index[1], edge_index[0]), weight, accumulate=True)
    torch.testing.assert_close(dense, naive(edge_index, num_nodes, power))


def test_by_hand():
    # A triangle 0, 1, 2, whose node 2 has a tail to 3. On the triangle, n = 3 and e = 3, so
    # omega = 3 / 6 * 9; on the tail, n = 2 and e = 1, so omega = 1 / 2 * 4.
    edges = [(0, 1), (1, 0), (0, 2), (2, 0), (1, 2), (2, 1), (2, 3), (3, 2)]
    weight = module.structural_coefficients(torch.tensor(edges).t(), 4)
    at_2 = {0: 1 + 4.5 / 11, 1: 1 + 4.5 / 11, 3: 1 + 2 / 11}
    expected = [at_2[u] if v == 2 else 2.0 if v == 3 else 1.5 for u, v in edges]
    assert weight.tolist() == pytest.approx(expected)


def test_copies_share_and_loops_have_none():
    edge_index = torch.tensor([[0, 0, 1, 1, 2, 1], [1, 1, 0, 1, 0, 2]])
    weight = module.structural_coefficients(edge_index, 4)
    assert weight.tolist() == pytest.approx([1.0, 1.0, 1.5, 0.0, 1.5, 2.0])
    assert module.structural_coefficients(edge_index[:, :0], 4).shape == (0,)


@pytest.mark.parametrize(
    'graph',
    [
        nx.complete_graph(9),
        nx.gnp_random_graph(70, 0.5, seed=0),  # bitsets of two words
        nx.barabasi_albert_graph(1500, 9, seed=0),  # too sparse for bitsets
        nx.disjoint_union_all([nx.complete_graph(5), nx.path_graph(900), nx.wheel_graph(6)]),
    ],
)
def test_counts_agree_with_networkx(graph, monkeypatch):
    edge_index = from_networkx(graph).edge_index
    simple = simple_graph(edge_index, len(graph))
    expected = torch.zeros(2, simple.num_edges, dtype=torch.long)
    number = {edge: i for i, edge in enumerate(map(tuple, simple.edge_index.t().tolist()))}
    for clique in nx.enumerate_all_cliques(graph):
        if len(clique) > 4:
            break
        if len(clique) > 2:
            nodes = sorted(clique)
            for i, u in enumerate(nodes):
                for v in nodes[i + 1 :]:
                    expected[len(clique) - 3, number[u, v]] += 1
    assert expected[1].sum() > 0
    assert torch.equal(torch.stack(clique_counts(simple)), expected)
    with kernels.use('torch'):
        assert torch.equal(torch.stack(clique_counts(simple)), expected)
        monkeypatch.setattr('graphgym_nc.triangles.listing._MAX_CANDIDATES', 500)
        assert torch.equal(torch.stack(clique_counts(simple)), expected)


def test_a_batch_is_one_graph():
    data = [from_networkx(nx.gnp_random_graph(n, 0.5, seed=n)) for n in (3, 9, 1, 12)]
    transform = StructuralCoefficients()
    apart = Batch.from_data_list([transform(graph) for graph in data])
    together = transform(Batch.from_data_list(data))
    assert torch.equal(apart.edge_coefficient, together.edge_coefficient)
    assert apart.edge_coefficient.dtype == torch.float
    assert 'edge_coefficient' not in data[0]


def test_a_regular_graph_looks_the_same_whatever_its_triangles():
    weights = [
        module.structural_coefficients(from_networkx(graph).edge_index, 8)
        for graph in (nx.cubical_graph(), nx.disjoint_union(*[nx.complete_graph(4)] * 2))
    ]
    torch.testing.assert_close(*weights)
    torch.testing.assert_close(weights[0], torch.full((24,), 4 / 3, dtype=torch.double))


def test_transform():
    assert repr(StructuralCoefficients(1.0)) == 'StructuralCoefficients(power=1.0)'
    with pytest.raises(ValueError, match=r"needs 'data\.edge_index'"):
        StructuralCoefficients()(Data(num_nodes=2))
