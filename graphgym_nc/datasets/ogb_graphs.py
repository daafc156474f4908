"""Graphs of the Open Graph Benchmark."""

import logging
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import pandas as pd
import torch
from ogb import graphproppred
from torch_geometric.data import Data
from torch_geometric.data.separate import separate

from graphgym_nc.datasets.download import unpacked
from graphgym_nc.datasets.generated import prepared_alone
from graphgym_nc.datasets.ogb_files import convert, memory_mapped, ogb_files_allowed

# A download of gigabytes may take so many time-outs in all.
_PATIENCE = 3600


class OGBGraphs(graphproppred.PygGraphPropPredDataset):
    """OGB's data sets of graphs, such as ogbg-ppa. They ask no questions, and need no
    more memory than a batch.

    The graphs are those of :class:`ogb.graphproppred.PygGraphPropPredDataset`,
    in the same files, but mapped into memory. Nodes without features stay so.

    Your own graphs, as :class:`ogb.io.DatasetSaver` writes them, are loaded in place
    of OGB's if their :obj:`meta_dict.pt` is in the folder.

    Args:
        root: Where data sets are kept; this one is in a folder such as
            :obj:`ogbg_ppa`.
        name: The name, such as :obj:`"ogbg-ppa"`.
        timeout: Seconds to wait for a server that does not answer.
        transform: A transform for every access.

    Raises:
        FileNotFoundError: If the graphs are not there, and cannot be fetched.
        ValueError: If OGB knows none by this name.
    """

    def __init__(
        self,
        root: str | Path,
        name: str,
        timeout: float = 5.0,
        transform: Callable[[Any], Any] | None = None,
    ) -> None:
        folder = _folder(Path(root), name)
        with prepared_alone(folder), ogb_files_allowed(), memory_mapped():
            meta = _own_meta(folder)
            if meta is None:
                _provide(folder, name, timeout)
            super().__init__(name, str(root), transform, meta_dict=meta)
            parts = self.get_idx_split()
        self.split_idxs = [torch.as_tensor(parts[key]) for key in ('train', 'valid', 'test')]
        self.source = 'OGB' if meta is None else f"your own graphs in '{folder}', not OGB's"
        if meta is not None:
            logging.warning('*** %s: %s (%d graphs)', name, self.source, len(self))

    def download(self) -> None:
        """Makes do without raw files if they have been converted already."""
        if not Path(self.processed_paths[0]).exists():
            names = ', '.join(self.raw_file_names)
            raise FileNotFoundError(f"there must be {names} in '{self.raw_dir}'")

    def process(self) -> None:
        known = self.meta_info['task type'] == 'multiclass classification'
        edges_only = (self.meta_info['has_node_attr'], self.meta_info['has_edge_attr'])
        if known and edges_only == ('False', 'True'):
            convert(Path(self.raw_dir), Path(self.processed_paths[0]), self.binary)
        else:
            super().process()

    def get(self, idx: int) -> Data:
        """A graph; PyG would keep an object for each one it has ever seen."""
        return separate(Data, self._data, idx, self.slices, decrement=False)


def _folder(root: Path, name: str) -> Path:
    folder = root / name.replace('-', '_')
    old = folder.with_name(f'{folder.name}_pyg')  # as OGB's first versions named it
    return old if old.exists() else folder


def _own_meta(folder: Path) -> dict[str, Any] | None:
    path = folder / 'meta_dict.pt'
    if not path.exists():
        return None
    return {**torch.load(path), 'dir_path': str(folder)}


def _provide(folder: Path, name: str, timeout: float) -> None:
    """Fetches the graphs if need be; OGB would ask on the terminal."""
    table = Path(graphproppred.__file__).with_name('master.csv')
    master = pd.read_csv(table, index_col=0, keep_default_na=False)
    if name not in master:
        raise ValueError(f'OGB knows {", ".join(map(str, master))}')
    meta = master[name]
    release = f'RELEASE_v{meta["version"]}.txt'
    if (folder / release).exists():
        return
    if any((folder / part).glob('*') for part in ('raw', 'processed') if (folder / part).exists()):
        raise FileNotFoundError(
            f"'{folder}' holds another version of {name}, or has lost its '{release}': put that "
            f'back, or remove the folder to have the graphs fetched again'
        )
    try:
        _fetch(meta['url'], meta['download_name'], folder, timeout)
    except (OSError, BadZipFile) as error:
        raise FileNotFoundError(
            f"{name} is not in '{folder}', and {meta['url']} cannot be reached ({error}): fetch "
            f"it elsewhere, unpack it, and move what is in '{meta['download_name']}' ('raw', "
            f"'split', '{release}') to '{folder}'"
        ) from error


def _fetch(url: str, archive_folder: str, folder: Path, timeout: float) -> None:
    with unpacked(url, folder, timeout, _PATIENCE) as content:
        release_last = sorted((content / archive_folder).iterdir(), key=Path.is_file)
        for path in release_last:
            shutil.move(path, folder / path.name)
