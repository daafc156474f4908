"""Data sets by name, and their loaders."""

from typing import Any

import pytorch_lightning as pl
import torch
from torch_geometric.data import InMemoryDataset
from torch_geometric.graphgym import register
from torch_geometric.graphgym.config import cfg
from torch_geometric.graphgym.loader import create_dataset, get_loader
from torch_geometric.loader import DataLoader

from graphgym_nc.config import ConfigError
from graphgym_nc.datasets import TriangleCounting, load_sbm
from graphgym_nc.registry import register_once

SPLITS = ('train', 'val', 'test')


@register_once(register.loader_dict, 'nc')
def load_dataset(format: str, name: str, dataset_dir: str) -> InMemoryDataset | None:  # noqa: A002
    """Loads the data sets that GraphGym does not know."""
    if format == 'PyG-GNNBenchmarkDataset' and name in ('PATTERN', 'CLUSTER'):
        return load_sbm(
            dataset_dir,
            name,
            source=cfg.nc.sbm_source,
            num_graphs=cfg.nc.sbm_graphs,
            seed=cfg.nc.sbm_seed,
            timeout=cfg.nc.download_timeout,
        )
    if format == 'NC' and name == 'TriangleCounting':
        return TriangleCounting(dataset_dir, cfg.nc.counting_graphs, cfg.nc.counting_seed)
    return None


class DataModule(pl.LightningDataModule):
    """The loaders of all splits; test is evaluated beside validation.

    Attributes:
        dataset: The data set.
        source: Where its graphs come from.
        loaders: One loader for each split.
    """

    def __init__(self) -> None:
        super().__init__()
        self.dataset = create_dataset()
        self.source: str = getattr(self.dataset, 'source', 'as loaded by PyG')
        edge_attr = self.dataset._data.get('edge_attr')
        if edge_attr is not None:  # as the key's comment in GraphGym promises
            cfg.dataset.edge_dim = edge_attr[:1].numel()
        parts = _split(self.dataset)
        if len(parts) < 2:
            raise ConfigError(
                f"'dataset.name: {cfg.dataset.name}' has no validation split, by which the "
                f'reported epoch could be chosen'
            )
        cfg.share.num_splits = len(parts)
        self.loaders = [
            _loader(part, cfg.train.sampler if i == 0 else cfg.val.sampler, shuffle=i == 0)
            for i, part in enumerate(parts)
        ]

    def train_dataloader(self) -> Any:
        return self.loaders[0]

    def val_dataloader(self) -> list[Any]:
        return self.loaders[1:]


def _split(dataset: InMemoryDataset) -> list[InMemoryDataset]:
    """The graphs of every split: by indices of graphs, kept as GraphGPS does
    (:obj:`dataset.split_idxs`) or as GraphGym does, or else all graphs in every
    split, with masks of their nodes or lists of their links.
    """
    if hasattr(dataset, 'split_idxs'):
        return [dataset[index] for index in dataset.split_idxs]
    keys = [f'{split}_graph_index' for split in SPLITS]
    indices = [dataset._data[key] for key in keys if key in dataset._data]
    if not indices:
        return [dataset] * cfg.share.num_splits
    for key in keys:
        dataset._data.pop(key, None)
    return [dataset[index] for index in indices]


def _loader(dataset: InMemoryDataset, sampler: str, shuffle: bool) -> Any:
    if sampler != 'full_batch' and len(dataset) == 1:
        return get_loader(dataset, sampler, cfg.train.batch_size, shuffle)
    return DataLoader(
        dataset,
        batch_size=cfg.train.batch_size,
        shuffle=shuffle,
        num_workers=cfg.num_workers,
        pin_memory=torch.cuda.is_available(),
        persistent_workers=cfg.num_workers > 0,
    )
