import pytest
import torch
from torch_geometric.data import Data, InMemoryDataset
from torch_geometric.graphgym import register

from graphgym_nc.loader import DataModule
from tests.reference import dense_graph


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
