"""Finds the structures that a network needs to know: once for a data set, or for each batch."""

import copy
import hashlib
import logging
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from pickle import UnpicklingError
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch_geometric.data import Data, InMemoryDataset
from torch_geometric.graphgym.config import cfg
from torch_geometric.transforms import BaseTransform
from tqdm import tqdm

from graphgym_nc import __version__
from graphgym_nc.datasets.fingerprint import data_fingerprint
from graphgym_nc.datasets.generated import prepared_alone
from graphgym_nc.graphgym.preparation import bytes_per_pair
from graphgym_nc.graphgym.validation import ConfigError
from graphgym_nc.structures.data import StructureData, TooLargeError, check_size, gigabytes
from graphgym_nc.utils.files import replacing

_SAMPLE = 32


class _Estimate(NamedTuple):
    """What the structures of one graph take, on average over some."""

    nbytes: float
    seconds: float


def prepare(
    dataset: InMemoryDataset,
    parts: Sequence[InMemoryDataset],
    transform: BaseTransform,
    whole: bool,
) -> BaseTransform | None:
    """Finds the structures of all graphs, if that is asked for and they fit.

    Args:
        dataset: A data set.
        parts: Its splits, which share its graphs, and get the structures with it.
        transform: What finds the structures of a graph.
        whole: Whether to do more than to look whether they will fit.

    Returns:
        The transform, if it is to be applied to each batch.

    Raises:
        ConfigError: If the structures do not fit where they are to be kept.
    """
    for key, sampler in (('train.sampler', cfg.train.sampler), ('val.sampler', cfg.val.sampler)):
        if sampler != 'full_batch' and len(dataset) == 1:
            text = (
                f"'{key}' is '{sampler}', but {transform} is for whole graphs: take 'full_batch'"
            )
            raise ConfigError(text)
    estimate = _estimate(dataset, transform)
    total = estimate.nbytes * len(dataset)
    logging.info(
        '%s: about %s and %.0f s for %d graphs',
        transform, gigabytes(total), estimate.seconds * len(dataset), len(dataset),
    )  # fmt: skip
    if not _once(transform, total):
        _check_batch(estimate, transform, min(cfg.train.batch_size, len(parts[0])))
        return transform
    if whole:
        data, slices = _kept(dataset, transform)
        for part in (dataset, *parts):
            part._data, part.slices, part._data_list, part.transform = data, slices, None, None
        return None
    return transform


def _estimate(dataset: InMemoryDataset, transform: BaseTransform) -> _Estimate:
    number = min(_SAMPLE, len(dataset))
    graphs = [dataset[i * len(dataset) // number] for i in range(number)]
    before = sum(map(_nbytes, graphs))
    try:
        transform(copy.copy(graphs[0]))  # what is loaded or compiled but once is not measured
        start = time.perf_counter()
        after = sum(_nbytes(transform(graph)) for graph in graphs)
    except (TooLargeError, ValueError) as error:
        raise ConfigError(f"'dataset.name: {cfg.dataset.name}': {error}") from error
    return _Estimate((after - before) / number, (time.perf_counter() - start) / number)


def _once(transform: BaseTransform, total: float) -> bool:
    """Whether structures are found once, for the whole data set."""
    varies = getattr(transform, 'random', False) or cfg.dataset.transform != 'none'
    fits = total <= cfg.peers.prepare_mb * 2**20
    if cfg.peers.prepare == 'dataset':
        if varies:
            raise ConfigError(
                f"'peers.prepare' is 'dataset', but {transform} or 'dataset.transform: "
                f"{cfg.dataset.transform}' may give a graph anew each time: take 'batch'"
            )
        if not fits:
            raise ConfigError(
                f"'peers.prepare' is 'dataset', but {transform} would take {gigabytes(total)} "
                f"for '{cfg.dataset.name}', and 'peers.prepare_mb' is {cfg.peers.prepare_mb:g}: "
                f"raise it, or take 'peers.prepare: batch'"
            )
        return True
    return cfg.peers.prepare == 'auto' and fits and not varies


def _check_batch(estimate: _Estimate, transform: BaseTransform, number: int) -> None:
    try:
        nbytes = int(estimate.nbytes * number)
        check_size(nbytes, f'{transform} of a batch')
    except TooLargeError as error:
        raise ConfigError(f"'train.batch_size' is {cfg.train.batch_size}: {error}") from error


def check_pairs(dataset: InMemoryDataset) -> None:
    """Makes sure that a network that keeps values for all pairs of nodes has room for a batch
    with the largest graph.

    Raises:
        ConfigError: If it has not.
    """
    nbytes = bytes_per_pair()
    if not nbytes:
        return
    sizes = (dataset.slices or {}).get('x')
    largest = (
        max(int(data.num_nodes) for data in dataset) if sizes is None else int(sizes.diff().max())
    )
    number = min(cfg.train.batch_size, len(dataset))
    what = f'the pairs of nodes of {number} graphs, padded to the largest, of {largest:,} nodes,'
    try:
        check_size(number * largest**2 * nbytes, what)
    except TooLargeError as error:
        raise ConfigError(
            f"'train.batch_size' is {cfg.train.batch_size}: {error}; take a smaller one and a "
            f"larger 'optim.batch_accumulation', or a smaller 'gnn.dim_inner', or data with "
            f'smaller graphs'
        ) from error


def _kept(dataset: InMemoryDataset, transform: BaseTransform) -> tuple[Data, dict[str, Any]]:
    """All graphs with their structures, from a file if they were found before."""
    folder = Path(cfg.dataset.dir) / cfg.dataset.name / 'prepared'
    path = folder / f'{_digest(dataset, transform)}.pt'
    with prepared_alone(folder):
        if path.exists():
            try:
                data, slices = torch.load(path, weights_only=True)
                return StructureData.from_dict(data), slices
            except (RuntimeError, EOFError, ValueError, UnpicklingError) as error:
                logging.warning("'%s' is damaged (%s): finding the structures again", path, error)
        progress = tqdm(dataset, f'Preparing {transform}', len(dataset), disable=None)
        data, slices = InMemoryDataset.collate([transform(graph) for graph in progress])
        try:
            with replacing(path) as unfinished:
                torch.save((data.to_dict(), slices), unfinished)
        except OSError as error:
            logging.warning("Structures are not kept for other runs: '%s': %s", path, error)
    return data, slices


def _digest(dataset: InMemoryDataset, transform: BaseTransform) -> str:
    """Tells all that prepared graphs depend on."""
    slices = {
        key: value for key, value in (dataset.slices or {}).items() if isinstance(value, Tensor)
    }
    parts = (
        data_fingerprint(dataset._data), data_fingerprint(Data.from_dict(slices)),
        repr(dataset.transform), repr(transform), __version__,
    )  # fmt: skip
    return hashlib.sha256('\n'.join(parts).encode()).hexdigest()[:16]


def _nbytes(data: Data) -> int:
    tensors: Iterable[Any] = data.to_dict().values()
    return sum(t.numel() * t.element_size() for t in tensors if isinstance(t, Tensor))
