"""Data sets by name, their splits and loaders."""

import logging
import math
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytorch_lightning as pl
import torch
import torch_geometric.transforms as T
from torch import Tensor
from torch_geometric.data import Data, InMemoryDataset
from torch_geometric.graphgym import register
from torch_geometric.graphgym.config import cfg
from torch_geometric.graphgym.loader import create_dataset
from torch_geometric.utils import index_to_mask

from graphgym_nc.datasets.generated import GeneratedDataset, prepared_alone
from graphgym_nc.datasets.ogb_files import ogb_files_allowed
from graphgym_nc.datasets.splits import (
    Folds,
    gin_fold,
    inner_validation,
    ratio_split,
    stratified_fold,
)
from graphgym_nc.graphgym.keys import TRANSFORMS
from graphgym_nc.graphgym.loader import load_dataset
from graphgym_nc.graphgym.preparation import for_evaluation, preparation
from graphgym_nc.graphgym.validation import ConfigError
from graphgym_nc.training.loader import create_loader
from graphgym_nc.training.prepare import check_pairs, prepare
from graphgym_nc.triangles.loader import move
from graphgym_nc.utils.files import is_full
from graphgym_nc.utils.split_names import SPLITS


def _load(first: int | None) -> InMemoryDataset:
    kind, name, folder = cfg.dataset.format, cfg.dataset.name, cfg.dataset.dir
    ogb = ogb_files_allowed() if kind == 'OGB' else nullcontext()
    try:
        with (
            ogb,
            prepared_alone(Path(folder) / name),
            # GraphGym asks the loaders in order: this keeps its place, as another may come first.
            patch.dict(register.loader_dict, nc=partial(load_dataset, first=first)),
        ):
            return create_dataset()
    except ConfigError:
        raise
    except ValueError as error:
        raise ConfigError(
            f"there is no data set 'dataset.name: {name}' of 'dataset.format: {kind}': {error}"
        ) from error
    except OSError as error:
        if is_full(error):
            place = f"the data in 'dataset.dir: {folder}'"
            raise OSError(error.errno, f'{error.strerror}: {place} need more') from error
        raise ConfigError(
            f"'dataset.name: {name}' cannot be had from 'dataset.dir: {folder}': {error}"
        ) from error


class DataModule(pl.LightningDataModule):
    """The loaders of all splits; test is evaluated beside validation.

    Args:
        first: Of graphs that are generated, draw so many of each split at most.

    Attributes:
        dataset: The data set.
        source: Where its graphs come from.
        graphs: All graphs as they are without what a network needs to know beside.
        loaders: One loader for each split.
    """

    def __init__(self, first: int | None = None) -> None:
        super().__init__()
        whole = Folds.of(cfg.dataset.split_mode) is not None  # folds need all labels
        self.dataset = _load(None if whole else first)
        self.source: str = getattr(self.dataset, 'source', 'as loaded by PyG')
        add_transforms(self.dataset)
        self._parts = split_dataset(self.dataset)
        example = self._parts[0][0]
        _check_encoders(example)
        _set_dimensions(example)
        cfg.share.num_splits = len(self._parts)
        check_pairs(self.dataset)
        self.graphs = self.dataset._data
        transform = preparation()
        if transform is not None:
            transform = prepare(self.dataset, self._parts, transform, whole=first is None)
        self._transform = transform
        self.loaders = [
            self._loader(i, cfg.train.sampler if i == 0 else cfg.val.sampler, i == 0)
            for i in range(len(self._parts))
        ]

    @property
    def num_batches(self) -> list[int]:
        """The number of batches of each split, with those that are not drawn."""
        if isinstance(self.dataset, GeneratedDataset) and self.dataset.partial:
            return [math.ceil(size / cfg.train.batch_size) for size in self.dataset.sizes]
        return [len(loader) for loader in self.loaders]

    def train_dataloader(self) -> Any:
        return self.loaders[0]

    def val_dataloader(self) -> list[Any]:
        return self.loaders[1:]

    def transfer_batch_to_device(self, batch: Any, device: torch.device, *_: Any) -> Any:
        """Moves a batch without waiting for the device."""
        return move(batch, device)

    def ordered_loader(self, index: int) -> Any:
        """The loader of a split, in the order of the data set."""
        return self._loader(index, 'full_batch', shuffle=False)

    def _loader(self, index: int, sampler: str, shuffle: bool) -> Any:
        transform = self._transform
        if transform is not None and not shuffle:
            transform = for_evaluation(transform)
        return create_loader(self._parts[index], sampler, shuffle, transform)


def split_dataset(dataset: InMemoryDataset) -> list[InMemoryDataset]:
    """The graphs of every split.

    A split that the data set brings along is used, unless
    :obj:`dataset.split_mode` asks for cross-validation: indices of graphs, kept
    as in GraphGPS (:obj:`dataset.split_idxs`) or as in GraphGym, or masks of
    nodes or lists of links (all graphs are then in every split). Otherwise,
    graphs, or the nodes of a single graph, are split by
    :obj:`dataset.split`. Folds of a cross-validation go by the seed.
    """
    mode = cfg.dataset.split_mode
    folds = Folds.of(mode)
    if folds is not None:
        return _fold(dataset, folds)
    own = _own_split(dataset)
    if own is not None:
        return own
    if mode == 'custom':
        raise ConfigError(
            f"'dataset.split_mode' is 'custom', but '{cfg.dataset.name}' has no split of its own"
        )
    if cfg.dataset.task == 'graph':
        return [dataset[index] for index in _random_split(len(dataset))]
    if cfg.dataset.task == 'node' and len(dataset) == 1:
        size = dataset[0].num_nodes
        parts = _random_split(size)
        for split, index in zip(SPLITS, parts, strict=False):
            _set_mask(dataset, f'{split}_mask', index_to_mask(index, size))
        return [dataset] * len(parts)
    raise ConfigError(
        f"'{cfg.dataset.name}' has no split of its own, and none can be drawn for "
        f"'dataset.task: {cfg.dataset.task}'"
    )


def _own_split(dataset: InMemoryDataset) -> list[InMemoryDataset] | None:
    if hasattr(dataset, 'split_idxs'):
        return [dataset[index] for index in dataset.split_idxs]
    data = dataset._data
    keys = [f'{split}_graph_index' for split in SPLITS]
    indices = [data[key] for key in keys if key in data]
    if indices:
        for key in keys:
            data.pop(key, None)
        return [dataset[index] for index in indices]
    marks = ('_mask', '_edge_index', '_pos_edge_index')
    number = sum(any(f'{split}{mark}' in data for mark in marks) for split in SPLITS)
    return [dataset] * number if number >= 2 else None


def _set_mask(dataset: InMemoryDataset, key: str, mask: Tensor) -> None:
    dataset._data[key] = mask
    dataset._data_list = None
    if dataset.slices is not None:
        dataset.slices[key] = torch.tensor([0, mask.numel()])


def _random_split(size: int) -> list[Tensor]:
    try:
        parts = ratio_split(size, cfg.dataset.split, cfg.seed, cfg.dataset.shuffle_split)
    except ValueError as error:
        raise ConfigError(f"'dataset.split': {error}") from error
    logging.info('Split by dataset.split, seed %d: %s', cfg.seed, [len(part) for part in parts])
    return parts


def _fold(dataset: InMemoryDataset, folds: Folds) -> list[InMemoryDataset]:
    mode, labels = cfg.dataset.split_mode, dataset._data.y.view(-1)
    if cfg.dataset.task != 'graph':
        raise ConfigError(
            f"'dataset.split_mode: {mode}' is for graphs, but 'dataset.task' is "
            f"'{cfg.dataset.task}'"
        )
    try:
        if folds.files:
            folder = Path(cfg.dataset.dir) / cfg.dataset.name / '10fold_idx'
            parts = gin_fold(folder, len(dataset), cfg.seed)
        else:
            parts = stratified_fold(labels, folds.number, cfg.seed)
        if folds.inner:
            parts = inner_validation(parts, labels)
    except (ValueError, OSError) as error:
        where = f"'dataset.split_mode: {mode}', where 'seed' is the fold"
        raise ConfigError(f'{where}: {error}') from error
    logging.info('Fold %d of %d: %s', cfg.seed, folds.number, [len(part) for part in parts])
    return [dataset[index] for index in parts]


def add_transforms(dataset: InMemoryDataset) -> None:
    """Adds the transforms that the configuration asks for."""
    transforms = [dataset.transform] if dataset.transform is not None else []
    if cfg.dataset.remove_feature:
        transforms.append(T.Constant(cat=False))
    if cfg.dataset.to_undirected:
        transforms.append(T.ToUndirected())
    if cfg.dataset.transform != 'none':
        try:
            transforms.append(TRANSFORMS[cfg.dataset.transform]())
        except TypeError as error:
            raise ConfigError(
                f"'dataset.transform: {cfg.dataset.transform}' needs arguments, and can only be "
                f'used from Python: {error}'
            ) from error
    dataset.transform = T.Compose(transforms) if transforms else None


def _check_encoders(data: Data) -> None:
    """Makes sure that there is what GraphGym's encoders encode."""
    options = cfg.dataset
    name = options.node_encoder_name
    whole = data.x is not None and not data.x.is_floating_point()
    if options.node_encoder and name in ('Atom', 'Integer') and not whole:
        raise ConfigError(
            f"'dataset.node_encoder_name: {name}' encodes integers, and the nodes of "
            f"'{options.name}' have none"
        )
    if options.edge_encoder and data.get('edge_attr') is None:
        raise ConfigError(
            f"'dataset.edge_encoder' is True, but '{options.name}' has no edge features"
        )


def _set_dimensions(data: Data) -> None:
    """Notes the widths of what the model will see, transforms included."""
    if data.x is not None:
        cfg.share.dim_in = data.num_node_features
    if data.get('edge_attr') is not None:  # as the key's comment in GraphGym promises
        cfg.dataset.edge_dim = data.num_edge_features
