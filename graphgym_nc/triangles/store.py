"""The triangles of all graphs of a data set, found once."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphgym_nc import kernels
from graphgym_nc.triangles.csr import CSR
from graphgym_nc.triangles.incidence import TriangleIncidence
from graphgym_nc.triangles.simple_graph import plain
from graphgym_nc.triangles.twins import Twins

Array = NDArray[np.int64]

_COLUMNS_AT_ONCE = 1 << 20
_NO_BORDER = np.iinfo(np.int64).max


@dataclass(frozen=True)
class TriangleStore:
    """The triangles of all graphs of a data set, from which those of any batch
    are copied together.

    Attributes:
        incidence: The incidence of all graphs.
        nodes: Where the nodes of every graph begin, of shape
            :obj:`[num_graphs + 1]`.
        edges: The same of its edges on triangles.
        columns: The same of its columns of :obj:`edge_index`.
        pairs: The same of its pairs of first twins, or again of its edges if twins
            are not made use of.
    """

    incidence: TriangleIncidence
    nodes: Array
    edges: Array
    columns: Array
    pairs: Array

    @staticmethod
    def build(
        edge_index: Tensor, columns: Tensor, nodes: Tensor, max_bytes: int
    ) -> 'TriangleStore | None':
        """Finds all triangles, if they are not too many to keep.

        Args:
            edge_index: The edges of all graphs, with nodes numbered within each,
                of shape :obj:`[2, E]`.
            columns: Where those of each graph begin, of shape
                :obj:`[num_graphs + 1]`.
            nodes: Where its nodes begin, likewise.
            max_bytes: What to keep at most.

        Returns:
            :obj:`None` if there is more to keep, or no kernel to do it.
        """
        edge_index = plain(edge_index)
        if not kernels.enabled(edge_index):
            return None
        edge_index = edge_index + nodes[:-1].repeat_interleave(columns.diff())
        if _estimated_bytes(edge_index, columns, nodes, max_bytes) > max_bytes:
            return None
        incidence = TriangleIncidence.build(edge_index, int(nodes[-1]))
        return TriangleStore(
            incidence,
            nodes.numpy(),
            _first_columns(incidence.endpoints.transposed, nodes),
            columns.numpy(),
            _first_columns(incidence.opposite, nodes),
        )

    def batch(
        self, graphs: Sequence[int], edge_index: Tensor, num_nodes: int
    ) -> TriangleIncidence:
        """The incidence of a batch of graphs.

        Args:
            graphs: The numbers of the graphs, in order.
            edge_index: The edges of the batch. If they are not those of these
                graphs, say because a transform has changed them, their triangles
                are found anew.
            num_nodes: The number of its nodes.
        """
        whole, chosen = self.incidence, np.asarray(graphs)
        nodes, edges = _Cut.of(self.nodes, chosen), _Cut.of(self.edges, chosen)
        columns = _Cut.of(self.columns, chosen)
        own = np.stack([_copy(row, columns, nodes.shift) for row in whole.edge_index.numpy()])
        if num_nodes != nodes.size or not torch.equal(edge_index, torch.from_numpy(own)):
            return TriangleIncidence.build(edge_index, num_nodes)

        pairs = _Cut.of(self.pairs, chosen)
        messages = _copy(whole.messages.numpy(), nodes)
        unused = np.full_like(edges.shift, edges.size - edges.all)
        return TriangleIncidence(
            neighbours=_cut(whole.neighbours, nodes, nodes),
            endpoints=_cut(whole.endpoints, edges, nodes),
            opposite=_cut(whole.opposite, nodes, pairs),
            twins=None
            if whole.twins is None
            else Twins(
                _cut(whole.twins.sums, pairs.then(nodes), edges),
                _cut(whole.twins.first, nodes, nodes),
            ),
            weight=torch.from_numpy(_copy(whole.weight.numpy(), edges)),
            messages=torch.from_numpy(messages),
            edge_id=torch.from_numpy(
                _copy(whole.edge_id.numpy(), columns, edges.shift, edges.all, unused)
            ),
            num_messages=int(messages.sum()),
            edge_index=edge_index,
        )


class _Cut(NamedTuple):
    """Ranges to be put one after the other."""

    begin: Array
    end: Array
    shift: Array  # from the old numbers to the new
    size: int  # of all ranges
    all: int  # what they are cut from
    border: int = _NO_BORDER  # of two parts, each with such ranges

    @staticmethod
    def of(ptr: Array, chosen: Array) -> '_Cut':
        begin, end = ptr[chosen], ptr[chosen + 1]
        stop = np.cumsum(end - begin)
        return _Cut(begin, end, stop - end, int(stop[-1]), int(ptr[-1]))

    def then(self, other: '_Cut') -> '_Cut':
        """Ranges of two parts, the first of which is followed by the second."""
        return _Cut(
            np.concatenate([self.begin, other.begin + self.all]),
            np.concatenate([self.end, other.end + self.all]),
            np.concatenate([self.shift, other.shift + self.size - self.all]),
            self.size + other.size,
            self.all + other.all,
            self.all,
        )


def _first_columns(matrix: CSR, rows: Tensor) -> Array:
    """The first columns of blocks that begin with some rows."""
    # Not sorted within a block, but no block's are less than those of the block before.
    first = matrix.col_t[matrix.rowptr_t[:-1].long()]
    return torch.searchsorted(first.long(), rows).numpy()


def _cut(matrix: CSR, rows: _Cut, cols: _Cut) -> CSR:
    parts = (
        *_cut_rows(matrix.rowptr.numpy(), matrix.col.numpy(), rows, cols),
        *_cut_rows(matrix.rowptr_t.numpy(), matrix.col_t.numpy(), cols, rows),
    )
    return CSR(*map(torch.from_numpy, parts))


def _cut_rows(
    rowptr: NDArray[Any], col: NDArray[Any], rows: _Cut, cols: _Cut
) -> tuple[NDArray[Any], NDArray[Any]]:
    entries = _Cut(
        rowptr[rows.begin].astype(np.int64), rowptr[rows.end].astype(np.int64), *rows[2:]
    )
    stop = np.cumsum(entries.end - entries.begin)
    entries = entries._replace(size=int(stop[-1]))
    new_rowptr = np.append(_copy(rowptr, rows, stop - entries.end), stop[-1]).astype(rowptr.dtype)
    if rows.border != _NO_BORDER:
        return new_rowptr, _copy(col, entries, np.tile(cols.shift, 2))
    if cols.border != _NO_BORDER:
        first, second = np.split(cols.shift, 2)
        return new_rowptr, _copy(col, entries, first, cols.border, second)
    return new_rowptr, _copy(col, entries, cols.shift)


def _copy(
    source: NDArray[Any],
    ranges: _Cut,
    shift: Array | None = None,
    border: int = _NO_BORDER,
    beyond: Array | None = None,
) -> NDArray[Any]:
    """Copies ranges of an array, and adds :obj:`shift` to the values in each, or
    :obj:`beyond` to those from :obj:`border` on.
    """
    from graphgym_nc.kernels.graphs import copy_shifted

    shift = np.zeros_like(ranges.begin) if shift is None else shift
    out = np.empty(ranges.size, source.dtype)
    copy_shifted(
        source, ranges.begin, ranges.end, shift, border, shift if beyond is None else beyond, out
    )
    return out


def _estimated_bytes(edge_index: Tensor, columns: Tensor, nodes: Tensor, enough: int) -> int:
    """What an incidence would take at most, *i.e.* without the use of twins, counted
    until that is :obj:`enough`.
    """
    from graphgym_nc.kernels import graphs, triangles

    total = 0
    cuts = torch.arange(0, int(columns[-1]), _COLUMNS_AT_ONCE)
    starts = torch.searchsorted(columns, cuts, right=True).sub(1).tolist()
    for first, last in pairwise(sorted({0, *starts, columns.numel() - 1})):
        part = edge_index[:, columns[first] : columns[last]] - nodes[first]
        unused_id = np.empty(part.size(1), np.int32)
        size = int(nodes[last] - nodes[first])
        edges = graphs.simple_edges(part.contiguous().numpy(), size, unused_id)
        _, weight = triangles.weigh(edges, size, unused_id)
        # Indices of four bytes: of messages and ends in both directions, of columns.
        total += 8 * int(weight.sum(dtype=np.int64)) + 20 * weight.size + 28 * part.size(1)
        if total > enough:
            break
    return total
