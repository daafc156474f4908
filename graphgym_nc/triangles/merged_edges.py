"""Edges whose ends have the same features, as one."""

from dataclasses import dataclass

import torch
from torch import Tensor

from graphgym_nc import kernels
from graphgym_nc.triangles.csr import CSR
from graphgym_nc.triangles.incidence import TriangleIncidence
from graphgym_nc.triangles.twin_pairs import TwinPairs

_MAX_DIFFERENT = 1024  # rows, so that a table of their pairs is small
_MIN_EDGES = 4096  # below, there is little to save
_MIN_SAVED = 4  # times fewer edges


@dataclass(frozen=True, eq=False)
class MergedEdges:
    """The edges of a :class:`~graphgym_nc.TriangleIncidence`, where those whose
    ends have the same two rows of features are one.

    A network over the edges runs once for all of them, if BatchNorm counts the messages
    of all. The gradient of the features themselves is not that of all nodes.

    Attributes:
        edges: The edges as they were.
        merged: Those edges times the merged ones: what each has become.
        endpoints: Merged edges times nodes: the two ends of one of them.
        weight: The number of messages that all of them send.
    """

    edges: TriangleIncidence | TwinPairs
    merged: CSR
    endpoints: CSR
    weight: Tensor

    @staticmethod
    def may_pay(edges: TriangleIncidence | TwinPairs, x: Tensor) -> bool:
        """Whether :meth:`by_features` looks for edges that are equal."""
        return (
            edges.num_edges >= _MIN_EDGES
            and not (x.requires_grad and torch.is_grad_enabled())
            and edges.num_messages <= torch.iinfo(edges.weight.dtype).max
            and x.dtype == torch.float32
            and kernels.enabled(x, edges.weight)
        )

    @staticmethod
    def by_features(edges: TriangleIncidence | TwinPairs, x: Tensor) -> 'Edges':
        """Merges edges, if that makes them much fewer, and nobody asks for the
        gradient of :obj:`x`.

        Args:
            edges: The edges.
            x: The features of all nodes, of shape :obj:`[num_nodes, channels]`.
        """
        if not MergedEdges.may_pay(edges, x):
            return edges
        row = _equal_rows(x.detach())
        if row is None:
            return edges
        ends, number, weight = edges.endpoints.col.view(-1, 2), edges.num_edges, edges.weight
        first, second = row[ends].t()
        pair = torch.minimum(first, second) * _MAX_DIFFERENT + torch.maximum(first, second)
        used = torch.zeros(_MAX_DIFFERENT**2, dtype=torch.bool).index_fill_(0, pair, True)
        merged = (used.cumsum(0, dtype=ends.dtype) - 1)[pair]
        size = int(used.sum())
        if _MIN_SAVED * size > number:
            return edges
        matrix = CSR.from_lists(merged[:, None], size)
        one_of_each = matrix.col_t[matrix.rowptr_t[:-1]]
        return MergedEdges(
            edges,
            matrix,
            CSR.from_lists(ends[one_of_each], x.size(0)),
            weight.new_zeros(size).index_add_(0, merged, weight),
        )

    @property
    def num_nodes(self) -> int:
        return self.edges.num_nodes

    @property
    def num_edges(self) -> int:
        return self.weight.numel()

    @property
    def num_messages(self) -> int:
        return self.edges.num_messages

    @property
    def messages(self) -> Tensor:
        return self.edges.messages

    def sum_opposite(self, src: Tensor) -> Tensor:
        """See :meth:`~graphgym_nc.TriangleIncidence.sum_opposite`."""
        return self.edges.sum_opposite(self.merged.row_sum(src))

    def gather_opposite(self, src: Tensor) -> Tensor:
        """See :meth:`~graphgym_nc.TriangleIncidence.gather_opposite`."""
        return self.merged.transposed.row_sum(self.edges.gather_opposite(src))


def _equal_rows(x: Tensor) -> Tensor | None:
    """A number for every row, the same for rows that are equal; :obj:`None` if too many are
    not.
    """
    # Rows with the same product with a random vector are most likely equal.
    product = x.mv(torch.randn(x.size(1), generator=torch.Generator().manual_seed(0)))
    if product[: 4 * _MAX_DIFFERENT].unique().numel() > _MAX_DIFFERENT:
        return None
    different, number = product.unique(return_inverse=True)
    row = torch.arange(x.size(0))
    like = torch.empty_like(different, dtype=torch.long).scatter_(0, number, row)
    equal = different.numel() <= _MAX_DIFFERENT and torch.equal(x[like[number]], x)
    return number if equal else None


#: The edges on triangles, in any form that a network over them can run on.
Edges = TriangleIncidence | TwinPairs | MergedEdges
