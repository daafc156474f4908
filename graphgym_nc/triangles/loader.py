"""Batches that bring their triangles along."""

from typing import Any

import torch.utils.data
from torch_geometric.data import Batch, Dataset
from torch_geometric.loader.dataloader import Collater

from graphgym_nc.triangles.incidence import TriangleIncidence
from graphgym_nc.triangles.store import TriangleStore


class TriangleLoader(torch.utils.data.DataLoader[Any]):
    """Loads batches of graphs, each with its
    :class:`~graphgym_nc.TriangleIncidence` as :obj:`batch.triangle_incidence`,
    which moves to a device with it.

    Args:
        dataset: The graphs.
        store: Where their triangles are kept, by their number in the whole data
            set; if not given, they are found for every batch (by the loader's
            workers, if it has any).
        **kwargs: Arguments of :class:`torch.utils.data.DataLoader`.
    """

    def __init__(
        self, dataset: Dataset, store: TriangleStore | None = None, **kwargs: Any
    ) -> None:
        collate = _Collate(Collater(dataset), store)
        super().__init__(_Numbered(dataset), collate_fn=collate, **kwargs)


class _Numbered(torch.utils.data.Dataset[Any]):
    """Graphs, and their numbers in the whole data set."""

    def __init__(self, dataset: Dataset) -> None:
        self.dataset = dataset

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: int) -> tuple[int, Any]:
        return int(self.dataset.indices()[index]), self.dataset[index]


class _Collate:
    def __init__(self, collate: Collater, store: TriangleStore | None) -> None:
        self.collate, self.store = collate, store

    def __call__(self, items: list[tuple[int, Any]]) -> Batch:
        numbers, graphs = zip(*items, strict=True)
        batch = self.collate(list(graphs))
        edge_index, num_nodes = batch.edge_index, batch.num_nodes
        if self.store is not None:
            batch.triangle_incidence = self.store.batch(numbers, edge_index, num_nodes)
        else:
            batch.triangle_incidence = TriangleIncidence.build(edge_index, num_nodes)
        return batch
