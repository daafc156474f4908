import networkx as nx
import pytest
import torch
from hypothesis import given, settings
from torch_geometric.data import Batch, Data

from graphgym_nc.structures.subgraph_drop import SubgraphDrop, covering_roots, keep_roots
from graphgym_nc.structures.subgraphs import EgoNets, Subgraphs, WalkSubgraphs
from tests.reference import dense_graph, graphs
from tests.structures.test_subgraphs import as_sets, data_of, some_graphs


@settings(max_examples=40)
@given(graphs())
@pytest.mark.parametrize('redundancy', [1, 2])
@pytest.mark.parametrize('transform', [EgoNets(2), WalkSubgraphs(3, 2)])
def test_nodes_are_covered_and_subgraphs_stay_whole(redundancy, transform, graph):
    data = SubgraphDrop(redundancy)(transform(data_of(graph)))
    whole, kept = Subgraphs.of(data), Subgraphs.of(data, 'drop')
    nodes, edges = as_sets(whole)
    kept_nodes, kept_edges = as_sets(kept)
    assert kept_nodes == {root: nodes[root] for root in kept_nodes}
    assert kept_edges == {root: edges[root] for root in kept_nodes if root in edges}
    assert torch.equal(kept.index[kept.edge_index], data.edge_index[:, kept.edge])
    assert kept.root_index[kept.root_row].tolist() == sorted(kept_nodes)
    for node in range(data.num_nodes):
        before, after = (
            sum(node in inside for inside in of.values()) for of in (nodes, kept_nodes)
        )
        assert after >= min(before, redundancy)
        assert kept.scale[node] == pytest.approx(before / after)


def naive_means(edge_index, num_nodes, chosen):
    """Every node's weights of chosen nodes, by its neighbours that are one step nearer."""
    means = {node: {node: 1.0} for node in chosen}
    while True:
        new = {}
        for u, v in edge_index.t().tolist():
            if v in means and u not in means:
                new.setdefault(u, []).append(means[v])
        if not new:
            return means
        for node, of in new.items():
            keys = {key for mean in of for key in mean}
            means[node] = {key: sum(m.get(key, 0) for m in of) / len(of) for key in keys}


@settings(max_examples=40)
@given(graphs())
def test_the_others_get_the_mean_of_their_nearest(graph):
    data = EgoNets(2)(data_of(graph))
    subgraphs = Subgraphs.of(data)
    chosen = covering_roots(subgraphs, 1)
    kept = keep_roots(subgraphs, chosen, data.edge_index)
    found = torch.zeros(data.num_nodes, data.num_nodes)
    found[kept.est_index, kept.root_index[kept.est_row]] = kept.est_weight
    expected = torch.zeros_like(found)
    roots = chosen.nonzero().flatten().tolist()
    for node, mean in naive_means(data.edge_index, data.num_nodes, roots).items():
        for root, weight in mean.items():
            expected[node, root] = weight
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(found.sum(dim=1), torch.ones(data.num_nodes))


def test_few_are_enough():
    path = torch.tensor(list(nx.path_graph(30).to_directed().edges())).t()
    subgraphs = Subgraphs.of(EgoNets(2)(Data(edge_index=path, num_nodes=30)))
    assert 6 <= int(covering_roots(subgraphs, 1).sum()) <= 10  # of 5 nodes each
    assert int(covering_roots(subgraphs, 5).sum()) == 30  # the ends are in 3 subgraphs
    clique = Subgraphs.of(EgoNets(1)(Data(edge_index=dense_graph(9, 1.0), num_nodes=9)))
    assert [int(covering_roots(clique, number).sum()) for number in (1, 2, 9, 99)] == [1, 2, 9, 9]


@pytest.mark.parametrize('drawn', [0.0, -5.0, float('nan')])
def test_every_round_chooses(monkeypatch, drawn):
    subgraphs = Subgraphs.of(EgoNets(2)(Data(edge_index=dense_graph(9, 0.3), num_nodes=9)))
    monkeypatch.setattr(torch, 'rand', lambda n, **options: torch.full((n,), drawn, **options))
    chosen = covering_roots(subgraphs, 2)
    covered = torch.bincount(subgraphs.index[chosen[subgraphs.root_index]], minlength=9)
    assert (covered >= torch.bincount(subgraphs.index).clamp(max=2)).all()


def test_it_is_drawn_anew():
    data, drop = EgoNets(1)(Data(edge_index=dense_graph(9, 1.0), num_nodes=9)), SubgraphDrop(1)
    assert drop.random
    assert drop.training_only
    assert str(drop) == 'SubgraphDrop(redundancy=1)'
    assert len({int(drop(data).drop_root_index[0]) for _ in range(20)}) > 1


def test_a_batch_of_what_single_graphs_were_given():
    single = [SubgraphDrop(1)(EgoNets(1)(data)) for data in some_graphs()]
    batch = Batch.from_data_list(single)
    kept = Subgraphs.of(batch, 'drop')
    assert torch.equal(kept.index[kept.edge_index], batch.edge_index[:, kept.edge])
    assert torch.equal(kept.index[kept.root_row], kept.root_index[kept.root_row])
    assert torch.equal(batch.batch[kept.est_index], batch.batch[kept.index[kept.est_row]])
