"""Loaders of batches."""

import logging
import signal
from typing import Any

import torch
from torch.utils.data import BatchSampler, RandomSampler, SequentialSampler
from torch_geometric.data import InMemoryDataset
from torch_geometric.graphgym.config import cfg
from torch_geometric.graphgym.loader import get_loader
from torch_geometric.loader import DataLoader

from graphgym_nc.graphgym.validation import ConfigError, select_kernel
from graphgym_nc.triangles.loader import TriangleLoader
from graphgym_nc.triangles.store import TriangleStore
from graphgym_nc.utils.distributed import ShareSampler, world_size


def create_loader(
    dataset: InMemoryDataset, sampler: str, shuffle: bool, store: TriangleStore | None = None
) -> Any:
    """The loader of a split.

    Args:
        dataset: The graphs of the split.
        sampler: How to cut a single graph, or :obj:`"full_batch"`.
        shuffle: Whether to shuffle the graphs.
        store: Where their triangles are kept, if anywhere.
    """
    if sampler != 'full_batch' and len(dataset) == 1 and world_size() == 1:
        return _sampling_loader(dataset, sampler, shuffle)
    options: dict[str, Any] = {
        'num_workers': cfg.num_workers,
        'pin_memory': torch.cuda.is_available(),
        'persistent_workers': cfg.num_workers > 0,
        'worker_init_fn': leave_signals_to_the_run,
    }
    if world_size() > 1:
        options['batch_sampler'] = _shares(dataset, shuffle)
    else:
        options |= {'batch_size': cfg.train.batch_size, 'shuffle': shuffle}
    if store is not None or (cfg.num_workers > 0 and _need_triangles()):
        return TriangleLoader(dataset, store, **options)
    return DataLoader(dataset, **options)


def leave_signals_to_the_run(worker: int) -> None:
    """Has a worker of a loader ignore what SLURM tells all processes of a job that
    is about to run out of time: it would queue the job again as well.
    """
    signal.signal(signal.SIGUSR2, signal.SIG_IGN)


def find_triangles_once(dataset: InMemoryDataset) -> TriangleStore | None:
    """The triangles of all graphs, if the layers need them, again and again, and
    they do not take too much memory.
    """
    data, slices = dataset._data, dataset.slices
    if not _need_triangles() or slices is None or len(dataset) == 1:
        return None
    if 'x' not in slices or 'edge_index' not in slices:
        return None
    select_kernel(cfg)
    store = TriangleStore.build(
        data.edge_index, slices['edge_index'], slices['x'], cfg.nc.triangle_store_mb << 20
    )
    if store is not None:
        logging.info('Triangles of all graphs found once: %s', store.incidence)
    return store


def _need_triangles() -> bool:
    return cfg.gnn.layer_type in ('ncgnnconv', 'ncgnneconv')


def _sampling_loader(dataset: InMemoryDataset, sampler: str, shuffle: bool) -> Any:
    try:
        loader = get_loader(dataset, sampler, cfg.train.batch_size, shuffle)
    except (ImportError, AttributeError, OSError) as error:
        raise ConfigError(
            f"the sampler '{sampler}' needs what is not installed, or what this PyG no longer "
            f"has: {error}; 'full_batch' and 'random_node' need nothing"
        ) from error
    loader.pin_memory = torch.cuda.is_available()
    return loader


def _shares(dataset: InMemoryDataset, shuffle: bool) -> ShareSampler:
    """The share of this process in every batch."""
    generator = torch.Generator() if shuffle else None
    order = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
    try:
        return ShareSampler(BatchSampler(order, cfg.train.batch_size, False), generator)
    except ValueError as error:
        raise ConfigError(
            f"'devices' x 'num_nodes' is {world_size()}, but a split of '{cfg.dataset.name}' has "
            f'only {len(dataset)} graph(s), and a graph is never divided'
        ) from error
