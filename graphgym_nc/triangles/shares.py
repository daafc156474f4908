"""What BatchNorm over all messages needs to know of the edges that send them."""

from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

if TYPE_CHECKING:
    from graphgym_nc.triangles.merged_edges import Edges


class Shares(NamedTuple):
    r"""The share that every edge has in all messages, and sums of them.

    Let :math:`\mathbf{E}` be the matrix of edges times nodes with their two ends, and
    :math:`\mathbf{s}` the shares.

    Attributes:
        of_edge: :math:`\mathbf{s}`, which adds up to one, of shape :obj:`[num_edges]`.
        of_node: :math:`-\frac{1}{2} \mathbf{E}^\top \mathbf{s}`: the shares of all
            edges at every node, times what they are needed with, of shape
            :obj:`[num_nodes]`.
        rowptr: Where the edges of each node begin in those below.
        other: The other end of each of them.
        of_other: Its share.
    """

    of_edge: Tensor
    of_node: Tensor
    rowptr: Tensor
    other: Tensor
    of_other: Tensor

    @staticmethod
    def of(edges: 'Edges', dtype: torch.dtype) -> 'Shares':
        """The shares of edges, in some type: found once, and kept with the edges."""
        kept: Shares | None = getattr(edges, '_shares', None)
        if kept is not None and kept.of_edge.dtype == dtype:
            return kept
        shares = Shares._of(edges, dtype)
        if not torch.compiler.is_compiling():
            object.__setattr__(edges, '_shares', shares)
        return shares

    @staticmethod
    def _of(edges: 'Edges', dtype: torch.dtype) -> 'Shares':
        ends = edges.endpoints
        of_edge = edges.weight.to(dtype) / edges.num_messages
        of_node = ends.transposed.row_sum(of_edge[:, None])[:, 0] * -0.5
        nodes = torch.arange(ends.num_cols, dtype=ends.col.dtype, device=ends.col.device)
        node = nodes.repeat_interleave(ends.rowptr_t.diff(), output_size=ends.col_t.numel())
        first, second = ends.col.view(-1, 2).unbind(1)
        other = (first + second)[ends.col_t] - node
        return Shares(of_edge, of_node, ends.rowptr_t, other, of_edge[ends.col_t])

    def ends_of_edges(self, halves: Tensor) -> Tensor:
        r""":math:`\mathbf{E}^\top \mathrm{diag}(\mathbf{s}) \, \mathbf{E}` times
        :obj:`halves`, of shape :obj:`[num_nodes, channels]`: with no row for any edge.
        """
        of_others = torch.embedding_bag(
            halves, self.other, self.rowptr, scale_grad_by_freq=False, mode=0, sparse=False,
            per_sample_weights=self.of_other, include_last_offset=True,
        )[0]  # fmt: skip
        return of_others.addcmul_(self.of_node[:, None], halves, value=-2)
