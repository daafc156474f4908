"""What data sets of generated graphs have in common."""

import errno
import logging
import tempfile
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch
from filelock import FileLock
from torch_geometric.data import Data, InMemoryDataset
from tqdm import tqdm

from graphgym_nc.utils.files import replacing


@contextmanager
def prepared_alone(folder: Path) -> Iterator[None]:
    """Within this context, no other process prepares a folder of data. It may be entered again
    within itself.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder / '.lock', is_singleton=True)
        lock.acquire()
    except OSError as error:
        if error.errno != errno.EROFS and not isinstance(error, PermissionError):
            raise
        yield  # nothing can be prepared here
        return
    try:
        yield
    finally:
        lock.release()


class GeneratedDataset(InMemoryDataset):
    """Graphs that are drawn once and kept on disk.

    A subclass draws them; what it draws must depend on nothing but its folder's
    name. Processes that ask at the same time wait for the first, and a file is
    there only once it is complete.

    Args:
        root: The folder of the data set, named after all that it depends on.
        sizes: The number of training, validation and test graphs.
        transform: A transform for every access.
        first: Draw so many graphs of each split at most, and keep no file.

    Attributes:
        sizes: The number of graphs of each split, drawn or not.
        partial: Whether only the first of them are drawn.
        split_idxs: Indices of the graphs of each split.
    """

    #: To be raised when other graphs are drawn, so that old files are not used.
    recipe = 1

    #: Where the graphs come from, for the record of a run.
    source: str

    def __init__(
        self,
        root: str | Path,
        sizes: Sequence[int],
        transform: Callable[[Any], Any] | None = None,
        first: int | None = None,
    ) -> None:
        self.sizes = tuple(sizes)
        self.partial = first is not None
        self.drawn = [size if first is None else min(size, first) for size in sizes]
        self.split_idxs = list(torch.arange(sum(self.drawn)).split(self.drawn))
        place = nullcontext(Path(root).parent) if first is None else tempfile.TemporaryDirectory()
        with place as parent, prepared_alone(folder := Path(parent) / Path(root).name):
            super().__init__(str(folder), transform, log=False)
            try:
                self.load(self.processed_paths[0])
            except (RuntimeError, EOFError, ValueError, UnpicklingError) as error:
                path = self.processed_paths[0]
                logging.warning("'%s' is damaged (%s): drawing the graphs again", path, error)
                self.process()
                self.load(path)

    @property
    def processed_file_names(self) -> str:
        return f'data_v{self.recipe}.pt'

    @abstractmethod
    def draw_graph(self, split: int, number: int) -> Data:
        """Draws one graph of a split."""

    def draw(self) -> Iterator[Data]:
        """Draws the graphs."""
        for split, size in enumerate(self.drawn):
            for number in range(size):
                yield self.draw_graph(split, number)

    def process(self) -> None:
        what = f'Drawing {Path(self.root).name}'
        logging.info('%s: %d graphs (other processes wait)', what, sum(self.drawn))
        progress = tqdm(self.draw(), what, sum(self.drawn), disable=None)
        with replacing(Path(self.processed_paths[0])) as unfinished:
            self.save(list(progress), str(unfinished))
