import logging

import pytest
import torch
from torch_geometric.data import Data, InMemoryDataset
from torch_geometric.graphgym import register
from torch_geometric.transforms import BaseTransform

from graphgym_nc.graphgym import preparation
from graphgym_nc.graphgym.validation import ConfigError
from graphgym_nc.structures import data as structures
from graphgym_nc.training.data import DataModule
from graphgym_nc.training.prepare import check_pairs, data_fingerprint
from tests.reference import dense_graph

GRAPHS, EDGES = 12, 8


class Chains(BaseTransform):
    """A toy structure: a chain through the edges of a graph, so many times."""

    calls = 0

    def __init__(self, times=1):
        self.times = times

    def forward(self, data):
        Chains.calls += 1
        edges = torch.arange(data.num_edges).repeat(self.times)
        return structures.attach(data, {'toy_edge': edges, 'toy_next': edges.roll(1)})

    def __repr__(self):
        return f'Chains({self.times})'


class Toy(InMemoryDataset):
    def __init__(self, **options):
        super().__init__()
        self.data, self.slices = self.collate(
            [
                Data(
                    x=torch.full((5, 2), float(i)), edge_index=dense_graph(5), y=torch.tensor([i])
                )
                for i in range(GRAPHS)
            ]
        )
        self.split_idxs = [torch.arange(8), torch.arange(8, 10), torch.arange(10, 12)]
        vars(self).update(options)


@pytest.fixture
def prepared(cfg, monkeypatch):
    """Makes the data module of a small data set, whose layers need chains."""
    monkeypatch.setattr(Chains, 'calls', 0)
    for key in ('toy_edge', 'toy_next'):
        monkeypatch.setitem(structures.INDICES, key, 'edge_index')
    cfg.gnn.layer_type = 'toyconv'
    cfg.dataset.name = 'Toy'
    cfg.dataset.task, cfg.train.batch_size = 'graph', 4

    def make(transform=None, dataset=None, first=None):
        dataset = dataset or Toy()
        loader = {'toy': lambda format, name, dataset_dir: dataset}  # noqa: A006
        monkeypatch.setattr(register, 'loader_dict', loader)
        monkeypatch.setitem(preparation._TRANSFORMS, 'toyconv', lambda: transform or Chains())
        return DataModule(first)

    return make


@pytest.fixture(autouse=True)
def folder(cfg, tmp_path):
    cfg.dataset.dir = str(tmp_path / 'data')
    return tmp_path / 'data' / 'Toy' / 'prepared'


def assert_chains(module, times=1):
    sizes = []
    for loader in module.loaders:
        for batch in loader:
            edges = batch.toy_edge.view(batch.num_graphs, times, EDGES)
            of_graph = torch.arange(batch.num_graphs * EDGES).view(-1, 1, EDGES)
            if times == 1 or module._transform is None:
                assert torch.equal(edges, of_graph.expand_as(edges))
            sizes.append(batch.num_graphs)
    assert sizes == [4, 4, 2, 2]


@pytest.mark.parametrize('mode', ['auto', 'dataset', 'batch'])
def test_once_or_for_each_batch(prepared, cfg, folder, mode):
    cfg.peers.prepare = mode
    module = prepared()
    after = Chains.calls
    assert_chains(module)
    assert Chains.calls - after == (4 if mode == 'batch' else 0)
    assert len([*folder.glob('*.pt')]) == (mode != 'batch')
    labels = [y for loader in module.loaders[1:] for batch in loader for y in batch.y.tolist()]
    assert labels == [8, 9, 10, 11]


def test_a_second_run_finds_them_on_disk(prepared, folder):
    prepared()
    estimate = GRAPHS  # fewer graphs than the sample that it looks at, the first twice
    assert Chains.calls == 1 + estimate + GRAPHS
    assert_chains(prepared())
    assert Chains.calls == 2 * (1 + estimate) + GRAPHS


def test_other_parameters_or_data_are_other_files(prepared, folder, cfg):
    prepared()
    assert_chains(prepared(Chains(2)), times=2)
    assert len([*folder.glob('*.pt')]) == 2
    cfg.dataset.remove_feature = True  # a transform of every access
    prepared()
    assert len([*folder.glob('*.pt')]) == 3
    changed = Toy()
    changed._data.x += 1
    prepared(dataset=changed)
    assert len([*folder.glob('*.pt')]) == 4


def test_a_damaged_file_is_made_anew(prepared, folder, caplog):
    prepared()
    (path,) = folder.glob('*.pt')
    good = path.read_bytes()
    path.write_bytes(good[:100])
    assert_chains(prepared())
    assert 'is damaged' in caplog.text
    assert len(path.read_bytes()) == len(good)


def test_what_does_not_fit_is_found_for_each_batch(prepared, cfg, folder, caplog):
    caplog.set_level(logging.INFO)
    cfg.peers.prepare_mb = 1e-3  # a chain takes 128 bytes
    module = prepared()
    assert 'Chains(1): about 0.00146 MB and 0 s for 12 graphs' in caplog.text
    assert_chains(module)
    assert not folder.exists()


def test_what_does_not_fit_is_refused_if_it_is_asked_for(prepared, cfg):
    cfg.peers.prepare, cfg.peers.prepare_mb = 'dataset', 1e-3
    with pytest.raises(
        ConfigError, match=r"would take 0\.00146 MB for 'Toy', and 'peers.prepare_"
    ):
        prepared()


def test_what_a_transform_changes_each_time_is_never_kept(prepared, cfg, folder):
    chains = Chains()
    chains.random = True
    assert prepared(chains)._transform is chains
    cfg.peers.prepare = 'dataset'
    with pytest.raises(ConfigError, match=r"'peers.prepare' is 'dataset', but Chains"):
        prepared(chains)


def test_what_is_for_training_alone(prepared, cfg):
    cfg.peers.prepare = 'batch'
    again = Chains()
    again.training_only = True
    module = prepared(preparation.composed([Chains(), again]))
    loaders = [*module.loaders, module.ordered_loader(0)]
    calls = []
    for loader in loaders:
        before, batches = Chains.calls, len([*loader])
        calls.append((Chains.calls - before) / batches)
    assert calls == [2, 1, 1, 1]


def test_a_batch_that_does_not_fit(prepared, cfg, monkeypatch):
    cfg.peers.prepare = 'batch'
    monkeypatch.setattr('os.sysconf', lambda name: 30)  # 900 bytes of memory
    with pytest.raises(
        ConfigError, match=r"'train.batch_size' is 4: Chains\(1\) of a batch would"
    ):
        prepared()


def test_a_graph_that_does_not_fit(prepared):
    class Huge(Chains):
        def forward(self, data):
            structures.check_size(10**15, 'the chains')

    with pytest.raises(ConfigError, match=r"'dataset.name: Toy': the chains would take"):
        prepared(Huge())


def test_a_look_at_a_few_graphs_prepares_no_more(prepared, folder):
    assert_chains(prepared(first=2))
    assert not folder.exists()


def test_a_run_notes_the_data_without_structures(prepared):
    module = prepared()
    assert 'toy_edge' in module.dataset._data
    assert data_fingerprint(module.graphs) == data_fingerprint(Toy()._data)


def test_samplers_are_refused(prepared, cfg):
    cfg.train.sampler, cfg.dataset.task = 'random_node', 'node'
    one = Toy()
    one._data, one.slices = one.collate([one[0]])
    cfg.dataset.split = [0.4, 0.3, 0.3]
    del one.split_idxs
    with pytest.raises(ConfigError, match=r"'train.sampler' is 'random_node', but"):
        prepared(dataset=one)


@pytest.mark.parametrize(('slices', 'batch_size'), [(True, 1), (False, 1), (True, 64)])
def test_pairs_that_do_not_fit(prepared, cfg, monkeypatch, slices, batch_size):
    """Twelve graphs of 5 nodes: 25 pairs of 100 bytes for each."""
    monkeypatch.setitem(preparation._PAIRS, 'toynet', lambda: 100)
    cfg.model.type, cfg.train.batch_size = 'toynet', batch_size
    dataset = Toy()
    if not slices:  # of node features, as there are none
        graphs = [Data(edge_index=dense_graph(5), num_nodes=5) for _ in range(GRAPHS)]
        dataset.data, dataset.slices = dataset.collate(graphs)
    number = min(batch_size, GRAPHS)
    monkeypatch.setattr('os.sysconf', lambda name: 2 * number * 2500 if 'SIZE' in name else 1)
    check_pairs(dataset)
    monkeypatch.setattr('os.sysconf', lambda name: 2 * number * 2500 - 2 if 'SIZE' in name else 1)
    with pytest.raises(
        ConfigError,
        match=rf"'train.batch_size' is {batch_size}: the pairs of nodes of {number} graphs, "
        r'padded to the largest, of 5 nodes, would take .*; take a smaller one',
    ):
        check_pairs(dataset)


def test_pairs_are_checked_before_work_starts(prepared, cfg, monkeypatch):
    monkeypatch.setitem(preparation._PAIRS, 'toynet', lambda: 10**15)
    cfg.model.type = 'toynet'
    with pytest.raises(ConfigError, match=r"'train\.batch_size' is 4: the pairs of nodes"):
        prepared()
    assert Chains.calls == 0
