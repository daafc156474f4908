"""What a layer needs to know of the triangles of a batch."""

from dataclasses import dataclass, fields
from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor
from torch_geometric.data import Data

from graphgym_nc.fingerprint import still_belongs
from graphgym_nc.triangles import SimpleGraph, list_triangles, offsets, simple_graph


@dataclass(frozen=True)
class Incidence:
    r"""A sparse 0/1 matrix in CSR form, with its transpose.

    Attributes:
        rowptr: Where each row begins in :obj:`col`, of shape
            :obj:`[num_rows + 1]`.
        col: The columns of the non-zero entries, row by row.
        rowptr_t: The same of the transpose, of shape :obj:`[num_cols + 1]`.
        col_t: The columns of the transpose, *i.e.* rows of the matrix.
    """

    rowptr: Tensor
    col: Tensor
    rowptr_t: Tensor
    col_t: Tensor

    @staticmethod
    def from_pairs(row: Tensor, col: Tensor, num_rows: int, num_cols: int) -> 'Incidence':
        """Builds the matrix from its non-zero entries, in any order."""
        small = max(num_rows, num_cols, row.numel()) <= torch.iinfo(torch.int32).max
        dtype = torch.int32 if small else torch.int64
        row, col = row.to(dtype), col.to(dtype)
        # Sorted by column, then stably by row: ascending columns in each row.
        col, order = col.sort(stable=True)
        col_t = row[order]
        row, order = col_t.sort(stable=True)
        return Incidence(
            offsets(row, num_rows).to(dtype),
            col[order],
            offsets(col, num_cols).to(dtype),
            col_t,
        )

    @property
    def num_rows(self) -> int:
        return self.rowptr.numel() - 1

    @property
    def num_cols(self) -> int:
        return self.rowptr_t.numel() - 1

    def row_sum(self, src: Tensor) -> Tensor:
        """Multiplies the matrix with :obj:`src`, of shape
        :obj:`[num_cols, channels]`. No atomics: the result is deterministic,
        and so is its gradient, on every device.
        """
        return cast(Tensor, _RowSum.apply(src, self.rowptr, self.col, self.rowptr_t, self.col_t))

    def to(self, device: Any, non_blocking: bool = False) -> 'Incidence':
        """Moves the matrix to a device."""
        return Incidence(
            *(getattr(self, f.name).to(device, non_blocking=non_blocking) for f in fields(self))
        )


class _RowSum(torch.autograd.Function):
    """A row sum whose backward pass is the row sum of the transpose."""

    @staticmethod
    def forward(
        src: Tensor, rowptr: Tensor, col: Tensor, rowptr_t: Tensor, col_t: Tensor
    ) -> Tensor:
        if col.numel() == 0:
            return src.new_zeros(rowptr.numel() - 1, src.size(1))
        return F.embedding_bag(col, src, rowptr, mode='sum', include_last_offset=True)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        ctx.save_for_backward(*inputs[1:])

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None, None]:
        rowptr, col, rowptr_t, col_t = ctx.saved_tensors
        out = _RowSum.apply(grad.contiguous(), rowptr_t, col_t, rowptr, col)
        return out, None, None, None, None


@dataclass(frozen=True)
class TriangleIncidence:
    r"""Which edges lie opposite which nodes, in a form that is built once per
    batch and shared by all layers.

    Only edges that lie on a triangle appear. See
    :meth:`~graphgym_nc.find_triangles` for what counts as a triangle.

    Attributes:
        endpoints: Edges times nodes: the two ends of every edge.
        opposite: Nodes times edges: the edges among a node's neighbours.
        weight: The number of triangles on every edge, *i.e.* of messages
            that it sends, of shape :obj:`[num_edges]`.
        edge_id: The edge that each column of the original :obj:`edge_index`
            stands for, :obj:`num_edges` if it lies on no triangle, of shape
            :obj:`[E]`.
    """

    endpoints: Incidence
    opposite: Incidence
    weight: Tensor
    edge_id: Tensor

    @staticmethod
    @torch.inference_mode(False)  # it may serve in training yet
    def build(
        edge_index: Tensor, num_nodes: int, triangle_index: Tensor | None = None
    ) -> 'TriangleIncidence':
        """Builds the incidence of a graph or batch of graphs.

        Args:
            edge_index: The edges, of shape :obj:`[2, E]`.
            num_nodes: The number of nodes.
            triangle_index: All triangles of the graph, each once, as
                :meth:`~graphgym_nc.find_triangles` gives them; found here if
                not given.

        Raises:
            ValueError: If :obj:`triangle_index` holds a triangle whose edges
                are not in :obj:`edge_index`, or one twice.
        """
        graph = simple_graph(edge_index, num_nodes)
        if triangle_index is None:
            triangle_index, opposite = list_triangles(graph)
        else:
            opposite = _opposite_edges(graph, triangle_index)
            _refuse_repeated(triangle_index)

        corner, edge = triangle_index.flatten(), opposite.flatten()
        weight = torch.bincount(edge, minlength=graph.num_edges)
        used = weight > 0
        new_id = used.cumsum(0) - 1
        u, v = graph.edge_index[:, used]
        num_edges = u.numel()

        id_or_none = F.pad(new_id.masked_fill(~used, num_edges), (0, 1), value=num_edges)
        return TriangleIncidence(
            endpoints=Incidence.from_pairs(
                torch.arange(num_edges, device=u.device).repeat_interleave(2),
                torch.stack([u, v], dim=1).flatten(),
                num_edges,
                num_nodes,
            ),
            opposite=Incidence.from_pairs(corner, new_id[edge], num_nodes, num_edges),
            weight=weight[used],
            edge_id=id_or_none[graph.edge_id],
        )

    @staticmethod
    def from_data(data: Data) -> 'TriangleIncidence':
        """Builds the incidence of a :class:`~torch_geometric.data.Data` or
        :class:`~torch_geometric.data.Batch`.

        An attached :obj:`triangle_index` is used only if it still belongs to
        the edges: sampling and cutting graphs leaves it behind unchanged.
        """
        if data.edge_index is None:
            raise ValueError("the graph has no 'edge_index'")
        triangle_index = data.triangle_index if still_belongs(data) else None
        return TriangleIncidence.build(data.edge_index, cast(int, data.num_nodes), triangle_index)

    @property
    def num_nodes(self) -> int:
        return self.opposite.num_rows

    @property
    def num_edges(self) -> int:
        return self.opposite.num_cols

    @property
    def num_messages(self) -> int:
        return self.opposite.col.numel()

    def edge_mean(self, edge_attr: Tensor) -> Tensor:
        """Averages edge features over the copies of every edge (usually its
        two directions), into shape :obj:`[num_edges, channels]`.
        """
        if edge_attr.size(0) != self.edge_id.numel():
            raise ValueError(
                f"'edge_attr' has {edge_attr.size(0)} rows, but the graph has "
                f'{self.edge_id.numel()} edges'
            )
        shape = (self.num_edges + 1, edge_attr.size(1))
        total = edge_attr.new_zeros(shape).index_add(0, self.edge_id, edge_attr)
        ones = edge_attr.new_ones(self.edge_id.numel())
        copies = edge_attr.new_zeros(shape[0]).index_add(0, self.edge_id, ones)
        return total[:-1] / copies[:-1, None]

    def to(self, device: Any, non_blocking: bool = False) -> 'TriangleIncidence':
        """Moves the incidence to a device."""
        return TriangleIncidence(
            *(getattr(self, f.name).to(device, non_blocking=non_blocking) for f in fields(self))
        )

    def __repr__(self) -> str:
        return (
            f'{self.__class__.__name__}(num_nodes={self.num_nodes}, '
            f'num_edges={self.num_edges}, num_triangles={self.num_messages // 3})'
        )


def _refuse_repeated(triangle_index: Tensor) -> None:
    number = triangle_index.sort(dim=0).values.unique(dim=1).size(1)
    if number < triangle_index.size(1):
        raise ValueError(
            f"'triangle_index' holds {triangle_index.size(1)} triangles, but only {number} "
            f'different ones'
        )


def _opposite_edges(graph: SimpleGraph, triangle_index: Tensor) -> Tensor:
    if triangle_index.dim() != 2 or triangle_index.size(0) != 3:
        raise ValueError(
            f"'triangle_index' must have shape [3, T] (got {list(triangle_index.shape)})"
        )
    if triangle_index.is_floating_point():
        raise ValueError(f"'triangle_index' must hold integers (got {triangle_index.dtype})")
    a, b, c = triangle_index.sort(dim=0).values
    edges, exist = zip(graph.find(b, c), graph.find(a, c), graph.find(a, b), strict=True)
    inside = (a >= 0) & (a < b) & (b < c) & (c < graph.num_nodes)
    missing = (~(exist[0] & exist[1] & exist[2] & inside)).nonzero()
    if missing.numel() > 0:
        column = int(missing[0])
        raise ValueError(
            f"'triangle_index' does not belong to 'edge_index': its column {column}, "
            f'{triangle_index[:, column].tolist()}, is no triangle of the graph'
        )
    # Row i of the result must lie opposite row i of the unsorted triangle.
    rank = triangle_index.argsort(dim=0).argsort(dim=0)
    return torch.stack(edges).gather(0, rank)
