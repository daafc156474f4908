"""Batches that bring their triangles along."""

from typing import Any

import torch.utils.data
from torch_geometric.data import Batch, Dataset
from torch_geometric.loader.dataloader import Collater

from graphgym_nc import kernels
from graphgym_nc.triangles.incidence import TriangleIncidence


class TriangleLoader(torch.utils.data.DataLoader[Any]):
    """Loads batches of graphs, each with its :class:`~graphgym_nc.TriangleIncidence` as
    :obj:`batch.triangle_incidence`, which moves to a device with the batch.

    The workers of the loader find the triangles, if it has any.
    :meth:`graphgym_nc.triangles.loader.move` moves a batch to a device without waiting for it.

    Args:
        dataset: The graphs.
        kernel: What finds the triangles: see :meth:`graphgym_nc.kernels.use`.
        **kwargs: Arguments of :class:`torch.utils.data.DataLoader`.
    """

    def __init__(self, dataset: Dataset, kernel: str = 'auto', **kwargs: Any) -> None:
        super().__init__(dataset, collate_fn=_Collate(Collater(dataset), kernel), **kwargs)


def move(batch: Any, device: Any) -> Any:
    """Moves a batch to a device without waiting for it, if its memory is pinned.

    Its triangles move with it, and still belong to its edges: to compare these on the
    device would wait for it.
    """
    incidence = batch.get('triangle_incidence')
    belongs = isinstance(incidence, TriangleIncidence) and incidence.belongs_to(batch.edge_index)
    if belongs:
        del batch.triangle_incidence
    batch = batch.to(device, non_blocking=True)
    if belongs:
        batch.triangle_incidence = incidence.to(device, True, batch.edge_index)
    return batch


class _Collate:
    def __init__(self, collate: Collater, kernel: str) -> None:
        self.collate, self.kernel = collate, kernel

    def __call__(self, graphs: list[Any]) -> Batch:
        batch = self.collate(graphs)
        with kernels.use(self.kernel):
            batch.triangle_incidence = TriangleIncidence.from_data(batch)
        return batch
