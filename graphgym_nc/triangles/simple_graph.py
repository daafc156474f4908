"""The undirected simple graph behind an :obj:`edge_index`.

Self-loops are dropped, duplicate edges are merged, and a directed edge counts as an
undirected one.
"""

from typing import NamedTuple

import torch
from torch import Tensor
from torch_geometric import EdgeIndex


class SimpleGraph(NamedTuple):
    r"""The undirected simple graph behind an :obj:`edge_index`.

    Attributes:
        edge_index: The edges :math:`(u, v)` with :math:`u < v`, each once, in
            lexicographic order, of shape :obj:`[2, m]`.
        key: Their keys :math:`u n + v`, ascending, of shape :obj:`[m]`.
        rowptr: Where each node's edges :math:`(u, \cdot)` begin, of shape
            :obj:`[n + 1]`.
        edge_id: The edge that each column of the original :obj:`edge_index`
            stands for, :obj:`m` for a self-loop, of shape :obj:`[E]`.
    """

    edge_index: Tensor
    key: Tensor
    rowptr: Tensor
    edge_id: Tensor

    @property
    def num_nodes(self) -> int:
        return self.rowptr.numel() - 1

    @property
    def num_edges(self) -> int:
        return self.key.numel()

    def find(self, u: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Looks up the edges :obj:`(u, v)`, given :obj:`u < v`.

        Returns:
            The ids of the edges, and a mask of those that exist.
        """
        key = u * self.num_nodes + v
        edge = torch.searchsorted(self.key, key).clamp_(max=max(self.num_edges - 1, 0))
        if self.num_edges == 0:
            return edge, torch.zeros_like(key, dtype=torch.bool)
        return edge, self.key[edge] == key


def simple_graph(edge_index: Tensor, num_nodes: int | None = None) -> SimpleGraph:
    """Drops loops, merges duplicates and ignores direction.

    Args:
        edge_index: The edges, of shape :obj:`[2, E]`.
        num_nodes: The number of nodes, *i.e.* :obj:`max(edge_index) + 1` if
            not given.

    Raises:
        ValueError: If :obj:`edge_index` is not an integer tensor of shape
            :obj:`[2, E]`, or holds an index outside of
            :obj:`[0, num_nodes)`.
    """
    num_nodes = check_edge_index(edge_index, num_nodes)
    low, high = edge_index.long().aminmax(dim=0)
    loop = low == high
    # A loop gets a key beyond all others, and so the last id.
    key = (low * num_nodes + high).masked_fill_(loop, num_nodes * num_nodes)
    key, edge_id = torch.unique(key, return_inverse=True)
    if key.numel() > 0 and bool(loop.any()):
        key = key[:-1]
    u = torch.div(key, max(num_nodes, 1), rounding_mode='floor')
    v = key - u * num_nodes
    return SimpleGraph(torch.stack([u, v]), key, offsets(u, num_nodes), edge_id)


def offsets(sorted_index: Tensor, size: int) -> Tensor:
    """Where each value of :obj:`range(size)` begins in a sorted index, of
    shape :obj:`[size + 1]`.
    """
    count = torch.bincount(sorted_index, minlength=size)
    return torch.nn.functional.pad(count.cumsum(0), (1, 0))


def plain(edge_index: Tensor) -> Tensor:
    """The tensor in an :class:`~torch_geometric.EdgeIndex`, which has operations of its own."""
    return edge_index.as_tensor() if isinstance(edge_index, EdgeIndex) else edge_index


def check_edge_index(edge_index: Tensor, num_nodes: int | None) -> int:
    """Makes sure that edges are what they should be.

    Returns:
        The number of nodes.

    Raises:
        ValueError: See :meth:`simple_graph`.
    """
    if edge_index.dim() != 2 or edge_index.size(0) != 2:
        raise ValueError(f"'edge_index' must have shape [2, E] (got {list(edge_index.shape)})")
    if edge_index.is_floating_point() or edge_index.dtype == torch.bool:
        raise ValueError(f"'edge_index' must hold integers (got {edge_index.dtype})")
    if num_nodes is not None and num_nodes < 0:
        raise ValueError(f"'num_nodes' must not be negative (got {num_nodes})")
    if edge_index.numel() == 0:
        return num_nodes or 0
    low, high = torch.stack(edge_index.aminmax()).tolist()
    if low < 0:
        raise ValueError(f"'edge_index' holds a negative node index ({low})")
    if num_nodes is None:
        return int(high) + 1
    if high >= num_nodes:
        raise ValueError(
            f"'edge_index' holds node index {high}, but there are only {num_nodes} nodes "
            f'(allowed are 0 to {num_nodes - 1})'
        )
    return num_nodes
