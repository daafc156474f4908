"""The neighbours of all nodes."""

from typing import NamedTuple

import torch
from torch import Tensor

from graphgym_nc.triangles.simple_graph import SimpleGraph, offsets


class Neighbours(NamedTuple):
    """The neighbours of all nodes of a simple graph.

    Attributes:
        rowptr: Where those of every node begin, of shape :obj:`[num_nodes + 1]`.
        source: The nodes, each as often as it has neighbours, of shape :obj:`[2 * num_edges]`.
        target: The neighbours, ascending for every node, of the same shape.
        edge: The edges that lead to them, of the same shape.
    """

    rowptr: Tensor
    source: Tensor
    target: Tensor
    edge: Tensor

    @classmethod
    def of(cls, graph: SimpleGraph) -> 'Neighbours':
        """The neighbours in a graph."""
        source, target = torch.cat([graph.edge_index, graph.edge_index.flip(0)], dim=1)
        order = (source * graph.num_nodes + target).argsort()
        edge = torch.arange(graph.num_edges, device=source.device).repeat(2)
        rowptr = offsets(source, graph.num_nodes)
        return cls(rowptr, source[order], target[order], edge[order])

    @property
    def degree(self) -> Tensor:
        return self.rowptr.diff()


def ranges(begin: Tensor, number: Tensor) -> tuple[Tensor, Tensor]:
    """The members of ranges of integers, one range after the other, and the range of each.

    Args:
        begin: The first member of every range.
        number: The number of its members.
    """
    of = torch.repeat_interleave(number)
    first = number.cumsum(0) - number
    return begin[of] + torch.arange(of.numel(), device=of.device) - first[of], of
