"""What data sets of generated graphs have in common."""

import logging
from abc import abstractmethod
from collections.abc import Callable, Iterator
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

from filelock import FileLock
from torch import Tensor
from torch_geometric.data import Data, InMemoryDataset
from tqdm import tqdm


def prepared_alone(folder: Path) -> FileLock:
    """A lock under which one process at a time prepares a folder of data."""
    folder.mkdir(parents=True, exist_ok=True)
    return FileLock(folder / '.lock')


class GeneratedDataset(InMemoryDataset):
    """Graphs that are drawn once and kept on disk.

    A subclass says how many graphs there are, and draws them; what it draws
    must depend on nothing but its folder's name. Processes that ask at the same
    time wait for the first, and a file is there only once it is complete.

    Args:
        root: The folder of the data set, named after all that it depends on.
        transform: A transform for every access.
    """

    #: Indices of the training, validation and test graphs.
    split_idxs: list[Tensor]

    #: To be raised when other graphs are drawn, so that old files are not used.
    recipe = 1

    #: Where the graphs come from, for the record of a run.
    source: str

    def __init__(self, root: str | Path, transform: Callable[[Any], Any] | None = None) -> None:
        with prepared_alone(Path(root)):
            super().__init__(str(root), transform, log=False)
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

    @property
    @abstractmethod
    def num_graphs(self) -> int:
        """The number of graphs to draw."""

    @abstractmethod
    def draw(self) -> Iterator[Data]:
        """Draws the graphs."""

    def process(self) -> None:
        progress = tqdm(
            self.draw(), f'Drawing {Path(self.root).name}', self.num_graphs, disable=None
        )
        path = Path(self.processed_paths[0])
        unfinished = path.with_suffix('.unfinished')
        self.save(list(progress), str(unfinished))
        unfinished.replace(path)
