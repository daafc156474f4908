"""Batches of graphs whose structures are large, in parts."""

from collections.abc import Callable, Iterator

from torch_geometric.data import Batch, Data
from torch_geometric.transforms import BaseTransform

_AT_ONCE = 1 << 19


def in_parts(
    data: Batch, transform: BaseTransform, size: Callable[[Data], int]
) -> Iterator[Batch]:
    """Gives the graphs of a batch their structures, and batches them again: as many at once as
    together have few messages, but one at least.

    Args:
        data: The batch.
        transform: What gives a graph its structures.
        size: The number of messages that these are good for.
    """
    part: list[Data] = []
    number = 0
    for graph in map(transform, data.to_data_list()):
        number += size(graph)
        if part and number > _AT_ONCE:
            yield Batch.from_data_list(part)
            part, number = [], size(graph)
        part.append(graph)
    yield Batch.from_data_list(part)
