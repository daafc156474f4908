import pickle
from itertools import chain

import networkx as nx
import pytest
import torch
from torch_geometric.data import Data, InMemoryDataset
from torch_geometric.datasets import TUDataset
from torch_geometric.graphgym import register
from torch_geometric.graphgym.loader import create_loader

from graphgym_nc.datasets.ppa_like import draw_ppa_like, save_ppa_like
from graphgym_nc.graphgym.validation import ConfigError
from graphgym_nc.training.data import DataModule
from graphgym_nc.utils.files import is_full
from tests.reference import dense_graph
from tests.tu_files import write_tu


class Toy(InMemoryDataset):
    def __init__(self, data_list, **kwargs):
        super().__init__()
        self.data, self.slices = self.collate(data_list)
        for key, value in kwargs.items():
            setattr(self, key, value)


def graphs(number=10, **kwargs):
    return [
        Data(
            x=torch.full((5, 2), float(i)),
            edge_index=dense_graph(5),
            y=torch.tensor([i % 3]),
            **kwargs,
        )
        for i in range(number)
    ]


@pytest.fixture
def serve(monkeypatch):
    def serve(dataset):
        loader = {'toy': lambda format, name, dataset_dir: dataset}  # noqa: A006
        monkeypatch.setattr(register, 'loader_dict', loader)

    return serve


def numbers(loader):
    return sorted({int(value) for batch in loader for value in batch.x[:, 0]})


def test_splits_as_graphgps_keeps_them(cfg, serve):
    indices = [torch.tensor([0, 2, 4, 6]), torch.tensor([1, 3]), torch.tensor([5, 7, 8])]
    serve(Toy(graphs(), split_idxs=indices, source='made up'))
    cfg.dataset.task, cfg.train.batch_size = 'graph', 3
    module = DataModule()
    assert module.source == 'made up'
    assert [numbers(loader) for loader in module.loaders] == [[0, 2, 4, 6], [1, 3], [5, 7, 8]]
    assert module.train_dataloader() is module.loaders[0]
    assert module.val_dataloader() == module.loaders[1:]
    assert (cfg.share.dim_in, cfg.share.dim_out, cfg.share.num_splits) == (2, 3, 3)


def test_splits_as_graphgym_keeps_them(cfg, serve):
    dataset = Toy(graphs())
    for split, index in (('train', [0, 1, 2]), ('val', [3]), ('test', [4, 5])):
        dataset._data[f'{split}_graph_index'] = torch.tensor(index)
    serve(dataset)
    cfg.dataset.task = 'graph'
    module = DataModule()
    assert [numbers(loader) for loader in module.loaders] == [[0, 1, 2], [3], [4, 5]]
    assert module.source == 'as loaded by PyG'


def test_masks_keep_all_graphs_in_every_split(cfg, serve):
    mask = torch.tensor([True, False, True, False, True])
    serve(Toy(graphs(1, train_mask=mask, val_mask=~mask, test_mask=~mask)))
    assert [numbers(loader) for loader in DataModule().loaders] == [[0], [0], [0]]


def test_width_of_edge_features_comes_from_the_data(cfg, serve):
    edge_attr = torch.zeros(dense_graph(5).size(1), 7)
    index = torch.arange(3)
    serve(Toy(graphs(edge_attr=edge_attr), split_idxs=[index, index + 3, index + 6]))
    DataModule()
    assert cfg.dataset.edge_dim == 7


@pytest.mark.filterwarnings('ignore')  # torch may warn of few cores
def test_workers(cfg, serve):
    index = torch.arange(3)
    serve(Toy(graphs(), split_idxs=[index, index + 3, index + 6]))
    cfg.num_workers = 1
    assert [numbers(loader) for loader in DataModule().loaders] == [
        [0, 1, 2],
        [3, 4, 5],
        [6, 7, 8],
    ]


def labelled(number):
    return Toy(graphs(number))


def test_random_split_of_graphs(cfg, serve):
    serve(labelled(20))
    cfg.dataset.task, cfg.dataset.split = 'graph', [0.5, 0.25, 0.25]
    first = [numbers(loader) for loader in DataModule().loaders]
    assert [len(part) for part in first] == [10, 5, 5]
    assert sorted(chain.from_iterable(first)) == list(range(20))
    assert [numbers(loader) for loader in DataModule().loaders] == first
    cfg.seed = 1
    assert [numbers(loader) for loader in DataModule().loaders] != first
    cfg.dataset.shuffle_split = False
    assert numbers(DataModule().loaders[0]) == list(range(10))


def test_two_parts_have_no_test(cfg, serve):
    serve(labelled(20))
    cfg.dataset.task, cfg.dataset.split = 'graph', [0.8, 0.2]
    assert len(DataModule().loaders) == 2
    assert cfg.share.num_splits == 2


def test_random_split_of_nodes(cfg, serve):
    serve(labelled(1))
    cfg.dataset.split = [0.6, 0.2, 0.2]
    module = DataModule()
    batch = next(iter(module.train_dataloader()))
    masks = torch.stack([batch[f'{split}_mask'] for split in ('train', 'val', 'test')])
    assert masks.sum(dim=1).tolist() == [3, 1, 1]
    assert masks.sum(dim=0).eq(1).all()


def test_folds_go_by_the_seed(cfg, serve):
    serve(labelled(30))
    cfg.dataset.task, cfg.dataset.split_mode = 'graph', 'cv-stratified-5'
    held_out = []
    for cfg.seed in range(5):
        held_out += numbers(DataModule().loaders[1])
    assert sorted(held_out) == list(range(30))
    cfg.seed = 5
    with pytest.raises(ConfigError, match=r"'seed' is the fold: .*no fold 5 of 5"):
        DataModule()


def test_a_fold_with_a_validation_set_of_its_own(cfg, serve):
    serve(labelled(60))
    cfg.dataset.task, cfg.dataset.split_mode = 'graph', 'cv-stratified-5'
    cfg.seed = 2
    rest, held_out = (numbers(loader) for loader in DataModule().loaders)
    cfg.dataset.split_mode = 'cv-stratified-5-inner'
    train, val, test = (numbers(loader) for loader in DataModule().loaders)
    assert cfg.share.num_splits == 3
    assert (test, sorted(train + val)) == (held_out, rest)
    assert len(val) == 5


def test_folds_of_files(cfg, serve, tmp_path):
    serve(labelled(20))
    cfg.dataset.task, cfg.dataset.split_mode = 'graph', 'gin-folds'
    with pytest.raises(ConfigError, match=r"'dataset.split_mode: gin-folds', .*dataset\.zip"):
        DataModule()
    folder = tmp_path / 'datasets' / cfg.dataset.name / '10fold_idx'
    folder.mkdir(parents=True)
    (folder / 'train_idx-1.txt').write_text(''.join(f'{i}\n' for i in range(2, 20)))
    (folder / 'test_idx-1.txt').write_text('0\n1\n')
    assert [numbers(loader) for loader in DataModule().loaders] == [[*range(2, 20)], [0, 1]]
    cfg.dataset.split_mode = 'gin-folds-inner'
    with pytest.raises(ConfigError, match=r'gin-folds-inner.*number of classes'):
        DataModule()


def test_splits_that_cannot_be(cfg, serve):
    serve(labelled(20))
    cfg.dataset.task, cfg.dataset.split_mode = 'graph', 'custom'
    with pytest.raises(ConfigError, match='has no split of its own'):
        DataModule()
    cfg.dataset.task, cfg.dataset.split_mode = 'node', 'random'
    with pytest.raises(ConfigError, match='none can be drawn'):
        DataModule()
    cfg.dataset.split_mode = 'cv-stratified-5'
    with pytest.raises(ConfigError, match='is for graphs'):
        DataModule()


def test_transforms(cfg, serve):
    serve(labelled(20))
    cfg.dataset.task, cfg.dataset.transform = 'graph', 'AddTriangles'
    cfg.dataset.remove_feature = True
    batch = next(iter(DataModule().train_dataloader()))
    assert 'triangle_index' in batch
    assert batch.x.eq(1).all()
    assert cfg.share.dim_in == 1
    cfg.dataset.transform = 'AddRandomWalkPE'
    with pytest.raises(ConfigError, match='needs arguments'):
        DataModule()


@pytest.mark.parametrize('key', ['node_encoder', 'edge_encoder'])
def test_encoders_without_what_they_encode(cfg, serve, key):
    serve(labelled(20))
    cfg.dataset.task, cfg.dataset[key] = 'graph', True
    with pytest.raises(ConfigError, match=f"'dataset.{key}.* 'Cora'.* ha"):
        DataModule()


def test_to_undirected(cfg, serve):
    edge_index = torch.tensor([[0, 1], [1, 2]])
    data_list = [Data(x=torch.ones(3, 1), edge_index=edge_index, y=torch.tensor([0]))] * 10
    serve(Toy(data_list))
    cfg.dataset.task, cfg.dataset.to_undirected, cfg.train.batch_size = 'graph', True, 1
    assert next(iter(DataModule().train_dataloader())).num_edges == 4


def test_samplers(cfg, serve):
    serve(labelled(1))
    cfg.dataset.split = [0.6, 0.2, 0.2]
    cfg.train.train_parts, cfg.train.sampler = 2, 'random_node'
    sizes = [batch.num_nodes for batch in DataModule().train_dataloader()]
    assert sum(sizes) == 5
    assert len(sizes) == 2
    cfg.train.sampler = 'neighbor'
    with pytest.raises(ConfigError, match=r'the sampler .neighbor. needs what is not installed'):
        list(DataModule().train_dataloader())


def test_files_of_ogb_can_be_loaded(cfg, monkeypatch, tmp_path):
    # As OGB saves and loads its processed files.
    path = tmp_path / 'ogb.pt'
    torch.save(Toy.collate(graphs(20)), path)

    class Ogb(Toy):
        def __init__(self):
            InMemoryDataset.__init__(self)
            self.data, self.slices = torch.load(path)

    monkeypatch.setattr(register, 'loader_dict', {'ogb': lambda *_: Ogb()})
    cfg.dataset.task, cfg.dataset.format = 'graph', 'OGB'
    assert len(DataModule().dataset) == 20
    cfg.dataset.format = 'PyG'  # no other data may hold these classes
    with pytest.raises(pickle.UnpicklingError):
        DataModule()
    with pytest.raises(pickle.UnpicklingError):
        Ogb()


def test_tu_data_sets_that_cannot_be_had(cfg, monkeypatch):
    # An address of this machine that nobody listens on.
    monkeypatch.setattr(TUDataset, 'url', 'http://127.0.0.1:9')
    cfg.dataset.format, cfg.dataset.name = 'PyG-TUDataset', 'IMDB-MULTI'
    with pytest.raises(ConfigError, match=r"'dataset.name: IMDB-MULTI'.* into '.*IMDB-MULTI/raw'"):
        DataModule()


def test_tu_data_sets_with_counts_of_triangles(cfg, tmp_path):
    graphs = [nx.complete_graph(4), nx.cycle_graph(5), nx.star_graph(3), nx.complete_graph(3)]
    write_tu(tmp_path, 'IMDB-BINARY', graphs, [0, 1, 0, 1])
    cfg.dataset.format, cfg.dataset.name = 'PyG-TUDataset', 'IMDB-BINARY'
    cfg.dataset.dir, cfg.dataset.task = str(tmp_path), 'graph'
    cfg.dataset.transform, cfg.dataset.split_mode = 'AddTriangleCount', 'cv-stratified-2'
    module = DataModule()
    assert cfg.share.dim_in == 4 + 1  # degrees 0 to 3, and the count
    assert module.dataset[0].x[:, -1].tolist() == [3.0] * 4
    assert module.dataset[1].x[:, -1].tolist() == [0.0] * 5
    assert [len(part) for part in module._parts] == [2, 2]


@pytest.mark.filterwarnings('ignore')  # what stock GraphGym and PyG have to say
def test_graphs_of_ogb_with_stock_graphgym(cfg, tmp_path):
    save_ppa_like(tmp_path / 'ogbg_ppa', draw_ppa_like(80, num_nodes=10, num_edges=25))
    cfg.dataset.format, cfg.dataset.name, cfg.dataset.dir = 'OGB', 'ogbg-ppa', str(tmp_path)
    cfg.dataset.task, cfg.dataset.task_type = 'graph', 'classification'
    ours = [len(loader.dataset) for loader in DataModule().loaders]
    theirs = [len(loader.dataset) for loader in create_loader()]
    assert ours == theirs == [40, 20, 20]
    assert (cfg.share.dim_in, cfg.share.dim_out, cfg.share.num_splits) == (1, 37, 3)


def test_a_full_disk_names_the_folder_of_the_data(cfg, tmp_path):
    folder = tmp_path / 'triangle_counting_generated_20_seed0' / 'processed'
    folder.mkdir(parents=True)
    (folder / 'data_v1.pt.unfinished').symlink_to('/dev/full')
    cfg.dataset.format, cfg.dataset.name, cfg.dataset.dir = 'NC', 'TriangleCounting', str(tmp_path)
    cfg.dataset.task, cfg.nc.counting_graphs = 'graph', 20
    message = f"No space left on device: the data in 'dataset.dir: {tmp_path}' need more"
    with pytest.raises(OSError, match=message) as error:
        DataModule()
    assert is_full(error.value)
    assert not [*folder.glob('*.unfinished')]
    assert len(DataModule().dataset) == 20
