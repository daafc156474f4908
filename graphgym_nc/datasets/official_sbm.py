"""PATTERN and CLUSTER as they were published, and what to do without them."""

import logging
from collections.abc import Sequence
from pathlib import Path
from zipfile import BadZipFile

import torch
from torch_geometric.data import InMemoryDataset
from torch_geometric.datasets import GNNBenchmarkDataset

from graphgym_nc.datasets.download import unpacked
from graphgym_nc.datasets.generated import prepared_alone
from graphgym_nc.datasets.sbm import PUBLISHED_AVERAGES, GeneratedSBM
from graphgym_nc.utils.files import is_full
from graphgym_nc.utils.split_names import SPLITS


class OfficialSBM(InMemoryDataset):
    """All splits of a :class:`~torch_geometric.datasets.GNNBenchmarkDataset`
    in one.

    Args:
        root: Where data sets are kept.
        name: :obj:`"PATTERN"` or :obj:`"CLUSTER"`.
    """

    def __init__(self, root: str | Path, name: str) -> None:
        super().__init__()
        with prepared_alone(Path(root) / name):
            splits = [_load_split(Path(root), name, split) for split in SPLITS]
        self.name = name
        self.data, self.slices = self.collate([data for split in splits for data in split])
        sizes = [len(split) for split in splits]
        self.split_idxs = list(torch.arange(sum(sizes)).split(sizes))
        self.source = 'official'

    def __repr__(self) -> str:
        return f'{self.name}({len(self)})'


def load_sbm(
    root: str | Path,
    name: str,
    source: str = 'auto',
    num_graphs: list[int] | None = None,
    seed: int = 0,
    timeout: float = 5.0,
    first: int | None = None,
) -> OfficialSBM | GeneratedSBM:
    """Loads PATTERN or CLUSTER, and says loudly which graphs they are.

    Args:
        root: Where data sets are kept.
        name: :obj:`"PATTERN"` or :obj:`"CLUSTER"`.
        source: :obj:`"official"` for the published graphs, from disk or the
            network; :obj:`"generated"` for graphs drawn by the published
            recipe; :obj:`"auto"` for the former if they can be had, unless
            :obj:`num_graphs` asks for another size than the published.
        num_graphs: See :class:`GeneratedSBM`.
        seed: See :class:`GeneratedSBM`.
        timeout: Seconds to wait for a server that does not answer.
        first: See :class:`GeneratedSBM`.

    Raises:
        FileNotFoundError: If :obj:`source` is :obj:`"official"`, and the graphs
            are neither on disk nor to be had.
        ValueError: If it is, and a size is asked for.
    """
    check_source(source, num_graphs)
    dataset: OfficialSBM | GeneratedSBM | None = None
    if source == 'official' or (source == 'auto' and not num_graphs):
        dataset = _load_official(root, name, timeout)
    if dataset is None and source == 'official':
        url = GNNBenchmarkDataset.urls[name]
        raise FileNotFoundError(
            f"the official graphs of {name} are not in '{Path(root) / name}', and {url} cannot "
            f'be reached; put its content into {Path(root) / name / "raw"}, or draw graphs by '
            f"the published recipe with 'nc.sbm_source: generated'"
        )
    if dataset is None:
        dataset = GeneratedSBM(root, name, num_graphs, seed, first=first)
    _announce(dataset)
    return dataset


def check_source(source: str, num_graphs: Sequence[int] | None) -> None:
    """Checks what :meth:`load_sbm` is asked for.

    Raises:
        ValueError: If it is official graphs, and a size.
    """
    if source == 'official' and num_graphs:
        raise ValueError(
            f"'nc.sbm_graphs' is {list(num_graphs)}, but the official graphs come in one size: "
            f'leave it empty, or draw graphs by the published recipe with '
            f"'nc.sbm_source: generated'"
        )


def _load_official(root: str | Path, name: str, timeout: float) -> OfficialSBM | None:
    raw = Path(root) / name / 'raw' / f'{name}_v2.pt'
    processed = [_processed(Path(root), name, split) for split in SPLITS]
    try:
        if not raw.exists() and not all(path.exists() for path in processed):
            url = GNNBenchmarkDataset.urls[name]
            alone = prepared_alone(Path(root) / name)
            with alone, unpacked(url, raw.parent, timeout) as folder:
                (folder / raw.name).replace(raw)
        return OfficialSBM(root, name)
    except (OSError, BadZipFile) as error:
        if is_full(error):
            raise
        logging.info('Could not fetch %s: %s', GNNBenchmarkDataset.urls[name], error)
        return None


def _processed(root: Path, name: str, split: str) -> Path:
    return root / name / 'processed' / f'{split}_data.pt'


def _load_split(root: Path, name: str, split: str) -> InMemoryDataset:
    path = _processed(root, name, split)
    if not path.exists():
        return GNNBenchmarkDataset(str(root), name, split)
    dataset = InMemoryDataset()  # PyG would want the raw files beside it
    dataset.load(str(path))
    return dataset


def _announce(dataset: OfficialSBM | GeneratedSBM) -> None:
    nodes, edges = PUBLISHED_AVERAGES[dataset.name]
    data = dataset._data
    averages = (data.num_nodes / len(dataset), data.num_edges / len(dataset))
    logging.warning(
        '*** %s: %s graphs (%d graphs, on average %.1f nodes and %.1f edges; '
        'published: %.1f and %.1f)',
        dataset.name,
        dataset.source.upper(),
        len(dataset),
        *averages,
        nodes,
        edges,
    )
    errors = (abs(averages[0] / nodes - 1), abs(averages[1] / edges - 1))
    if len(dataset) >= 1000 and max(errors) > 0.05:
        logging.warning('*** These are not the published averages: is the data intact?')
