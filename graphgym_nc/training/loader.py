"""Loaders of batches."""

import signal
from typing import Any

import torch
from torch.utils.data import BatchSampler, RandomSampler, SequentialSampler
from torch_geometric.data import InMemoryDataset
from torch_geometric.graphgym.config import cfg
from torch_geometric.graphgym.loader import get_loader
from torch_geometric.loader import DataLoader
from torch_geometric.transforms import BaseTransform

from graphgym_nc.graphgym.validation import ConfigError
from graphgym_nc.structures.data import StructureLoader
from graphgym_nc.triangles.loader import TriangleLoader
from graphgym_nc.utils.distributed import ShareSampler, world_size


def create_loader(
    dataset: InMemoryDataset, sampler: str, shuffle: bool, transform: BaseTransform | None = None
) -> Any:
    """The loader of a split.

    Args:
        dataset: The graphs of the split.
        sampler: How to cut a single graph, or :obj:`"full_batch"`.
        shuffle: Whether to shuffle the graphs.
        transform: What gives a batch the structures that the network needs to know, if anything.
    """
    if sampler != 'full_batch' and len(dataset) == 1 and world_size() == 1:
        return _sampling_loader(dataset, sampler, shuffle)
    options: dict[str, Any] = {
        'num_workers': cfg.num_workers,
        'pin_memory': runs_on_gpu(),
        'persistent_workers': cfg.num_workers > 0,
        'worker_init_fn': leave_signals_to_the_run,
    }
    if world_size() > 1:
        options['batch_sampler'] = _shares(dataset, shuffle)
    else:
        options |= {'batch_size': cfg.train.batch_size, 'shuffle': shuffle}
    # Layers on a GPU would wait for it, again and again, to find triangles there.
    ahead = cfg.num_workers > 0 or runs_on_gpu()
    if ahead and cfg.gnn.layer_type in ('ncgnnconv', 'ncgnneconv'):
        return TriangleLoader(dataset, cfg.nc.kernel, **options)
    if transform is not None:
        return StructureLoader(dataset, transform, **options)
    return DataLoader(dataset, **options)


def runs_on_gpu() -> bool:
    """Whether the configuration runs on a GPU, to which pinned memory is copied sooner."""
    return cfg.accelerator != 'cpu' and torch.cuda.is_available()


def leave_signals_to_the_run(worker: int) -> None:
    """Has a worker of a loader ignore what SLURM tells all processes of a job that
    is about to run out of time: it would queue the job again as well.
    """
    signal.signal(signal.SIGUSR2, signal.SIG_IGN)


def _sampling_loader(dataset: InMemoryDataset, sampler: str, shuffle: bool) -> Any:
    try:
        loader = get_loader(dataset, sampler, cfg.train.batch_size, shuffle)
    except (ImportError, AttributeError, OSError) as error:
        raise ConfigError(
            f"the sampler '{sampler}' needs what is not installed, or what this PyG no longer "
            f"has: {error}; 'full_batch' and 'random_node' need nothing"
        ) from error
    loader.pin_memory = runs_on_gpu()
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
