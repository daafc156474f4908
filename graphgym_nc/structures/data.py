"""Graphs that carry structures, alone and in batches."""

import os
from collections.abc import Callable, Mapping
from typing import Any

from torch import Tensor
from torch.utils.data import DataLoader
from torch_geometric.data import Batch, Data, Dataset
from torch_geometric.loader.dataloader import Collater

#: Attributes whose values point to the columns (or entries) of another attribute. All others
#: that have "index" in their name point to nodes, as PyG has it.
INDICES: dict[str, str] = {}


class StructureData(Data):
    """A graph whose structures batch with it: in a batch, indices go on from one graph to the
    next, whatever they count.
    """

    def __inc__(self, key: str, value: Any, *args: Any, **kwargs: Any) -> Any:
        counted = INDICES.get(key)
        if counted is None:
            return super().__inc__(key, value, *args, **kwargs)
        return self[counted].size(self.__cat_dim__(counted, self[counted]))


def attach(data: Data, tensors: Mapping[str, Tensor]) -> Data:
    """Gives a graph, or a batch, the tensors of a structure."""
    if not isinstance(data, StructureData | Batch):
        data = StructureData.from_dict(data.to_dict())
    for name, tensor in tensors.items():
        data[name] = tensor
    return data


class TooLargeError(MemoryError):
    """A structure that would not fit into memory."""


def check_size(nbytes: int, what: str) -> None:
    """To be called before a structure is built.

    Args:
        nbytes: The bytes that it will take.
        what: What it is, in the plural, such as :obj:`"the rooted subgraphs of 3 hops"`.

    Raises:
        TooLargeError: If that is more than half of this machine's memory.
    """
    limit = os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') // 2
    if nbytes > limit:
        raise TooLargeError(
            f'{what} would take {gigabytes(nbytes)}, more than half of the '
            f'{gigabytes(2 * limit)} of memory of this machine'
        )


def gigabytes(nbytes: float) -> str:
    """A number of bytes, to be read."""
    return f'{nbytes / 2**30:.3g} GB' if nbytes >= 2**30 else f'{nbytes / 2**20:.3g} MB'


class StructureLoader(DataLoader[Any]):
    """Loads batches of graphs, and gives every batch its structures, in the workers of the
    loader if it has any.

    Args:
        dataset: The graphs.
        transform: What gives a batch its structures.
        **kwargs: Arguments of :class:`torch.utils.data.DataLoader`.
    """

    def __init__(self, dataset: Dataset, transform: Callable[[Any], Any], **kwargs: Any) -> None:
        super().__init__(dataset, collate_fn=_Collate(Collater(dataset), transform), **kwargs)


class _Collate:
    def __init__(self, collate: Collater, transform: Callable[[Any], Any]) -> None:
        self.collate, self.transform = collate, transform

    def __call__(self, graphs: list[Any]) -> Any:
        return self.transform(self.collate(graphs))
