import pickle

import numpy as np
import pytest
import torch
from torch_geometric.data import Batch, Data

from graphgym_nc.transforms import RandomWalks
from tests.reference import dense_graph


def walks(edge_index, num_nodes, length):
    """How often a walk returns, over all walks, one by one."""
    after = {v: [u for s, u in edge_index.t().tolist() if s == v] for v in range(num_nodes)}
    out = np.zeros((num_nodes, length))
    for v in range(num_nodes):
        at = {v: 1.0}
        for step in range(length):
            following: dict[int, float] = {}
            for u, p in at.items():
                for w in after[u]:
                    following[w] = following.get(w, 0) + p / len(after[u])
            at = following
            out[v, step] = at.get(v, 0)
    return torch.from_numpy(out).float()


def graph(num_nodes, p, seed=0):
    return Data(edge_index=dense_graph(num_nodes, p, seed), num_nodes=num_nodes)


@pytest.mark.parametrize('p', [0.0, 0.2, 0.7])
def test_equals_walks_one_by_one(p):
    data = graph(9, p)
    found = RandomWalks(5)(data)
    torch.testing.assert_close(found.random_walk_pe, walks(data.edge_index, 9, 5))
    assert 'random_walk_pe' not in data


@pytest.mark.filterwarnings('ignore:Sparse')
@pytest.mark.parametrize('isolated', [0, 3000])  # PyG multiplies large matrices otherwise
def test_copies_and_weights_do_not_count(isolated):
    edge_index = torch.tensor([[0, 1, 1, 0, 1, 2], [1, 0, 2, 1, 0, 1]])  # 0 and 1 twice
    data = Data(edge_index=edge_index, num_nodes=3 + isolated, edge_weight=torch.rand(6))
    found = RandomWalks(2)(data).random_walk_pe[:3]
    torch.testing.assert_close(found, torch.tensor([[0, 0.5], [0, 1], [0, 0.5]]))


def test_by_hand():
    # A triangle with a tail: from the tail, back after two steps with probability 1 / 3.
    edge_index = torch.tensor([[0, 1, 1, 2, 2, 0, 2, 3], [1, 0, 2, 1, 0, 2, 3, 2]])
    found = RandomWalks(3)(Data(edge_index=edge_index, num_nodes=4)).random_walk_pe
    assert found[3].tolist() == pytest.approx([0, 1 / 3, 0])
    assert found[0].tolist() == pytest.approx([0, 1 / 4 + 1 / 6, 1 / 6])


@pytest.mark.filterwarnings('ignore:Sparse')
@pytest.mark.parametrize('copies', [1, 800])  # PyG multiplies large matrices otherwise
def test_a_batch_equals_its_graphs(copies):
    graphs = [graph(2, 1.0), graph(1, 0.0), *[graph(3, 0.8, seed=3)] * copies]
    single = Batch.from_data_list([RandomWalks(4)(data) for data in graphs])
    batch = RandomWalks(4)(Batch.from_data_list(graphs))
    torch.testing.assert_close(batch.random_walk_pe, single.random_walk_pe)


def test_the_name_tells_the_length():
    transform = pickle.loads(pickle.dumps(RandomWalks(7)))
    assert repr(transform) == 'RandomWalks(7)'
    assert transform.walk_length == 7
