import multiprocessing

import numpy as np
import pytest
import torch
from torch_geometric.utils import contains_self_loops, is_undirected

from graphgym_nc.datasets import GeneratedSBM
from graphgym_nc.datasets.sbm import PUBLISHED_AVERAGES, PUBLISHED_SIZES

SIZES = [120, 30, 30]


@pytest.fixture(scope='module')
def datasets(tmp_path_factory):
    root = tmp_path_factory.mktemp('sbm')
    return {name: GeneratedSBM(root, name, SIZES) for name in PUBLISHED_SIZES}


@pytest.mark.parametrize('name', PUBLISHED_SIZES)
def test_form(datasets, name):
    dataset = datasets[name]
    assert str(dataset) == f'{name}(180)'
    assert [index.numel() for index in dataset.split_idxs] == SIZES
    assert torch.cat(dataset.split_idxs).tolist() == list(range(180))
    assert 'generated' in dataset.source
    num_features, num_classes = {'CLUSTER': (7, 6), 'PATTERN': (3, 2)}[name]
    assert (dataset.num_features, dataset.num_classes) == (num_features, num_classes)
    for data in dataset:
        assert data.validate()
        assert is_undirected(data.edge_index)
        assert not contains_self_loops(data.edge_index)
        assert data.x.sum(dim=1).eq(1).all()


@pytest.mark.parametrize('name', PUBLISHED_SIZES)
def test_averages_are_the_published_ones(datasets, name):
    dataset = datasets[name]
    nodes = np.array([data.num_nodes for data in dataset])
    edges = np.array([data.num_edges for data in dataset])
    # Of PATTERN, a fixed hundred of patterns is in all graphs: its averages vary with them.
    for values, published in zip((nodes, edges), PUBLISHED_AVERAGES[name], strict=True):
        error = values.std() / np.sqrt(len(values) if name == 'CLUSTER' else 100)
        assert abs(values.mean() - published) < 4 * error


def density(data, rows, cols):
    adjacency = torch.zeros(data.num_nodes, data.num_nodes)
    adjacency[data.edge_index[0], data.edge_index[1]] = 1
    block = adjacency[rows][:, cols]
    pairs = rows.sum() * cols.sum() - (rows & cols).sum()
    return block.sum(), pairs


def test_cluster_follows_the_recipe(datasets):
    inside, across = torch.zeros(2), torch.zeros(2)
    for data in datasets['CLUSTER']:
        feature = data.x.argmax(dim=1)
        # One node of each block carries the number of the block.
        seeds = feature.nonzero().flatten()
        assert sorted(feature[seeds].tolist()) == [1, 2, 3, 4, 5, 6]
        assert torch.equal(feature[seeds] - 1, data.y[seeds])
        count = data.y.bincount(minlength=6)
        assert count.min() >= 5
        assert count.max() <= 34
        for block in range(6):
            mine = data.y == block
            inside += torch.stack(density(data, mine, mine))
            across += torch.stack(density(data, mine, ~mine))
    assert (inside[0] / inside[1]).item() == pytest.approx(0.55, abs=0.005)
    assert (across[0] / across[1]).item() == pytest.approx(0.25, abs=0.005)


def test_pattern_follows_the_recipe(datasets):
    dataset = datasets['PATTERN']
    joined = torch.zeros(2)
    for data in dataset:
        pattern = data.y == 1
        assert 5 <= pattern.sum() <= 34
        joined += torch.stack(density(data, pattern, ~pattern))
    assert (joined[0] / joined[1]).item() == pytest.approx(0.5, abs=0.005)
    # The pattern of a graph comes again in every split, and 100 graphs later.
    first = dataset[0]
    for again in (dataset[100], dataset[120], dataset[150]):
        assert (again.y == 1).sum() == (first.y == 1).sum()
        for data in (first, again):
            data.inside = data.subgraph(data.y == 1)
        assert again.inside.num_edges == first.inside.num_edges
        counts = [data.inside.x.sum(dim=0).tolist() for data in (first, again)]
        assert counts[0] == counts[1]
        assert again.num_edges != first.num_edges


def test_graphs_do_not_depend_on_the_size(tmp_path, datasets):
    small = GeneratedSBM(tmp_path, 'CLUSTER', [3, 2, 2])
    large = datasets['CLUSTER']
    for i, j in ((0, 0), (2, 2), (3, 120), (5, 150)):
        assert torch.equal(small[i].edge_index, large[j].edge_index)
    other = GeneratedSBM(tmp_path, 'CLUSTER', [3, 2, 2], seed=1)
    assert not torch.equal(small[0].y, other[0].y)


@pytest.mark.parametrize('name', PUBLISHED_SIZES)
def test_the_first_graphs_are_those_of_the_whole(tmp_path, datasets, name):
    first = GeneratedSBM(tmp_path, name, SIZES, first=40)
    assert [index.numel() for index in first.split_idxs] == [40, 30, 30]
    assert first.sizes == tuple(SIZES)
    whole = datasets[name]
    for part, all_of_it in zip(first.split_idxs, whole.split_idxs, strict=True):
        for i, j in zip(part, all_of_it, strict=False):
            assert torch.equal(first[i].edge_index, whole[j].edge_index)
            assert torch.equal(first[i].x, whole[j].x)
    assert not list(tmp_path.iterdir())


def draw(root, queue):
    queue.put(GeneratedSBM(root, 'CLUSTER', [40, 5, 5])._data.edge_index.sum().item())


def test_two_processes_draw_once(tmp_path):
    context = multiprocessing.get_context('spawn')
    queue = context.Queue()
    processes = [context.Process(target=draw, args=(tmp_path, queue)) for _ in range(2)]
    for process in processes:
        process.start()
    sums = [queue.get(timeout=120) for _ in processes]
    for process in processes:
        process.join()
    assert sums[0] == sums[1]
    assert [path.name for path in tmp_path.rglob('*.pt')].count('data_v1.pt') == 1
    assert not list(tmp_path.rglob('*.unfinished'))


@pytest.mark.parametrize('damage', [b'', b'nonsense', None])
def test_a_damaged_file_is_drawn_again(tmp_path, damage, caplog):
    first = GeneratedSBM(tmp_path, 'CLUSTER', [3, 2, 2])
    (path,) = tmp_path.rglob('data_v1.pt')
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2] if damage is None else damage)
    again = GeneratedSBM(tmp_path, 'CLUSTER', [3, 2, 2])
    assert 'is damaged' in caplog.text
    assert torch.equal(again._data.edge_index, first._data.edge_index)
    assert path.read_bytes()[:2] == content[:2]


def test_another_recipe_does_not_use_old_files(tmp_path, monkeypatch):
    GeneratedSBM(tmp_path, 'CLUSTER', [3, 2, 2])
    monkeypatch.setattr(GeneratedSBM, 'recipe', 2)
    GeneratedSBM(tmp_path, 'CLUSTER', [3, 2, 2])
    assert {path.name for path in tmp_path.rglob('data_v*.pt')} == {'data_v1.pt', 'data_v2.pt'}


def test_bad_input(tmp_path):
    with pytest.raises(ValueError, match="'name' is 'MNIST'"):
        GeneratedSBM(tmp_path, 'MNIST')
    for sizes in ([1, 2], [1, 2, 0]):
        with pytest.raises(ValueError, match='three positive numbers'):
            GeneratedSBM(tmp_path, 'CLUSTER', sizes)
