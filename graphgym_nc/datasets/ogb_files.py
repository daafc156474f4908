"""The files of OGB's graphs: read with little memory, loaded with none."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.lib.format import open_memmap
from torch import Tensor
from torch.utils.serialization import config as serialization
from torch_geometric.data import Data
from torch_geometric.data.data import DataEdgeAttr, DataTensorAttr
from torch_geometric.data.storage import GlobalStorage
from tqdm import tqdm

from graphgym_nc.utils.files import replacing

# Rows of a text file that are parsed at once.
_CHUNK = 1 << 18

# How NumPy's arrays are restored, by the names that NumPy 1 and 2 give it.
_RESTORE = np.empty(0).__reduce__()[0]
_ALLOWED: list[Any] = [
    Data, DataEdgeAttr, DataTensorAttr, GlobalStorage,
    np.ndarray, np.dtype, type(np.dtype(np.int64)),
    (_RESTORE, 'numpy.core.multiarray._reconstruct'),
    (_RESTORE, 'numpy._core.multiarray._reconstruct'),
]  # fmt: skip

Slices = dict[str, Tensor]


@contextmanager
def ogb_files_allowed() -> Iterator[None]:
    """Lets :meth:`torch.load` read what OGB has saved. OGB calls it without naming the
    classes of PyG and NumPy (ogb/*/dataset_pyg.py).
    """
    # Those that are named already must not be forgotten when the context ends.
    known = torch.serialization.get_safe_globals()
    with torch.serialization.safe_globals([c for c in _ALLOWED if c not in known]):
        yield


@contextmanager
def memory_mapped() -> Iterator[None]:
    """Lets :meth:`torch.load` map tensors into memory: they are read when they
    are used, and the system may drop them at any time.
    """
    before, serialization.load.mmap = serialization.load.mmap, True
    try:
        yield
    finally:
        serialization.load.mmap = before


def convert(raw: Path, path: Path, binary: bool) -> None:
    """Converts raw files of graphs without node features to the file that
    OGB's own :meth:`process` would write.

    OGB holds the graphs in memory four times. Here, only the rows that are being
    parsed are in memory. The others are on disk.

    Args:
        raw: The folder of raw files.
        path: The file to write.
        binary: Whether they are those of :class:`ogb.io.DatasetSaver`, or text.
    """
    with tempfile.TemporaryDirectory(dir=path.parent) as scratch:
        graphs = _read_npz(raw) if binary else _read_text(raw, Path(scratch))
        with replacing(path) as unfinished, open(unfinished, 'wb') as file:
            try:
                torch.save(graphs, file)
            except RuntimeError as error:  # which hides the reason, such as a full disk
                raise error.__context__ or error from None


def _read_text(raw: Path, scratch: Path) -> tuple[Data, Slices]:
    """Reads text files, in which every undirected edge is one row."""
    num_nodes = _column(raw / 'num-node-list.csv.gz')
    num_edges = _column(raw / 'num-edge-list.csv.gz')
    total = int(num_edges.sum())
    edge_index = _on_disk(scratch / 'edge_index.npy', np.int64, (2, 2 * total))
    for begin, rows in _chunks(raw / 'edge.csv.gz', total):
        end = begin + len(rows)
        both = np.stack([rows, rows[:, ::-1]], axis=1)  # OGB: an edge, then its reverse
        edge_index[:, 2 * begin : 2 * end] = both.reshape(-1, 2).T
    edge_attr: np.memmap[Any, Any] | None = None
    for begin, rows in _chunks(raw / 'edge-feat.csv.gz', total):
        if edge_attr is None:
            edge_attr = _on_disk(scratch / 'edge_attr.npy', np.float32, (2 * total, rows.shape[1]))
        edge_attr[2 * begin : 2 * (begin + len(rows))] = rows.repeat(2, axis=0)
    if edge_attr is None:
        raise ValueError(f"there are no edge features in '{raw}'")
    y = _column(raw / 'graph-label.csv.gz')
    return _collated(num_nodes, 2 * num_edges, edge_index, edge_attr, y)


def _read_npz(raw: Path) -> tuple[Data, Slices]:
    """Reads binary files, in which every undirected edge has two columns."""
    with np.load(raw / 'data.npz') as arrays:
        num_nodes, num_edges = arrays['num_nodes_list'], arrays['num_edges_list']
        edge_index = np.ascontiguousarray(arrays['edge_index'])  # may be saved transposed
        edge_attr = arrays['edge_feat']
    with np.load(raw / 'graph-label.npz') as arrays:
        y = arrays['graph_label']
    return _collated(num_nodes, num_edges, edge_index, edge_attr, y)


def _collated(
    num_nodes: np.ndarray[Any, Any],
    num_edges: np.ndarray[Any, Any],
    edge_index: np.ndarray[Any, Any],
    edge_attr: np.ndarray[Any, Any],
    y: np.ndarray[Any, Any],
) -> tuple[Data, Slices]:
    """The graphs as :meth:`InMemoryDataset.collate` gives them."""
    data = Data(
        edge_index=torch.from_numpy(edge_index),
        edge_attr=torch.from_numpy(edge_attr),
        y=torch.tensor(y, dtype=torch.long).view(-1, 1),
        num_nodes=int(num_nodes.sum()),
    )
    data._store._num_nodes = num_nodes.tolist()
    edges = torch.from_numpy(np.concatenate([[0], np.cumsum(num_edges)]))
    graphs = torch.arange(len(num_nodes) + 1)
    return data, {'edge_index': edges, 'edge_attr': edges, 'y': graphs}


def _on_disk(path: Path, dtype: type[Any], shape: tuple[int, int]) -> np.memmap[Any, Any]:
    array = open_memmap(path, 'w+', dtype, shape)
    # A full disk is an error now. Later, it would kill the process.
    with open(path, 'r+b') as file:
        os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
    return array


def _column(path: Path) -> np.ndarray[Any, Any]:
    return pd.read_csv(path, header=None)[0].to_numpy(np.int64)


def _chunks(path: Path, total: int) -> Iterator[tuple[int, np.ndarray[Any, Any]]]:
    """The rows of a text file in chunks, each with the number of its first row."""
    begin = 0
    with (
        tqdm(total=total, desc=f'Reading {path.name}', unit='row', disable=None) as bar,
        pd.read_csv(path, header=None, chunksize=_CHUNK) as reader,
    ):
        for frame in reader:
            yield begin, frame.to_numpy()
            begin += len(frame)
            bar.update(len(frame))
    if begin != total:
        raise ValueError(f"'{path}' has {begin} rows, but must have {total}: is it complete?")
