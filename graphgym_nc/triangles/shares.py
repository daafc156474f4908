"""What BatchNorm over all messages needs to know of the edges that send them."""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import torch
from torch import Tensor

if TYPE_CHECKING:
    from graphgym_nc.triangles.merged_edges import Edges

T = TypeVar('T')


def once(edges: 'Edges', name: str, find: Callable[[], T]) -> T:
    """What is found once for some edges, by the first layer that asks, and kept with them: if it
    is a tensor, or some of them, and not what tools of torch put in their place.
    """
    if torch.compiler.is_compiling() or torch._C._are_functorch_transforms_active():
        return find()
    kept = vars(edges).setdefault('_kept', {})
    if name not in kept:
        with torch.inference_mode(False):  # it may serve in training yet
            found = find()
        tensors = found if isinstance(found, tuple) else (found,)
        if not all(type(tensor) is Tensor for tensor in tensors):
            return found
        kept[name] = found
    return kept[name]


class Shares(NamedTuple):
    r"""The share that every edge has in all messages, and sums of them.

    Let :math:`\mathbf{E}` be the matrix of edges times nodes with their two ends, and
    :math:`\mathbf{s}` the shares.

    Attributes:
        of_edge: :math:`\mathbf{s}`, which adds up to one, of shape :obj:`[num_edges]`.
        of_node: :math:`-\frac{1}{2} \mathbf{E}^\top \mathbf{s}`, the shares at every node
            as they are needed, of shape :obj:`[num_nodes]`.
        rowptr: Where each node begins in what follows.
        ends: Both ends of all edges of every node.
        of_ends: The shares of these edges.
    """

    of_edge: Tensor
    of_node: Tensor
    rowptr: Tensor
    ends: Tensor
    of_ends: Tensor

    @staticmethod
    def of(edges: 'Edges', dtype: torch.dtype) -> 'Shares':
        """The shares of edges, in some type: found once, and kept with the edges."""
        return once(edges, f'shares, {dtype}', lambda: Shares._of(edges, dtype))

    @staticmethod
    def _of(edges: 'Edges', dtype: torch.dtype) -> 'Shares':
        ends = edges.endpoints
        of_edge = edges.weight.to(dtype) / edges.num_messages
        return Shares(
            of_edge,
            ends.transposed.row_sum(of_edge[:, None])[:, 0] * -0.5,
            2 * ends.rowptr_t,
            ends.col.view(-1, 2)[ends.col_t].flatten(),
            of_edge[ends.col_t].repeat_interleave(2),
        )

    def row_sum(self, src: Tensor) -> Tensor:
        r""":math:`\mathbf{E}^\top \mathrm{diag}(\mathbf{s}) \, \mathbf{E}` times
        :obj:`src`, of shape :obj:`[num_nodes, channels]`: with no row for any edge.
        """
        return torch.embedding_bag(
            src, self.ends, self.rowptr, scale_grad_by_freq=False, mode=0, sparse=False,
            per_sample_weights=self.of_ends, include_last_offset=True,
        )[0]  # fmt: skip
