"""The roots of subgraphs, some at a time, and the edges that lead to a node."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from graphgym_nc.triangles.simple_graph import offsets

#: What a chunk of roots may have to look at: nodes and edges of their graphs, over all of them.
CHUNK = 1 << 20


class InEdges(NamedTuple):
    """The edges of a graph, by the node that they go to."""

    source: Tensor
    column: Tensor
    rowptr: Tensor
    degree: Tensor

    @staticmethod
    def of(edge_index: Tensor, num_nodes: int) -> 'InEdges':
        target, column = edge_index[1].sort(stable=True)
        source = edge_index[0][column]
        rowptr = offsets(target, num_nodes)
        return InEdges(source, column, rowptr, rowptr.diff())

    def into(self, node: Tensor) -> tuple[Tensor, Tensor]:
        """The place in a list of nodes, and in :obj:`source`, of all edges into these nodes."""
        degree = self.degree[node]
        end = degree.cumsum(0)
        place = torch.arange(node.numel(), device=node.device)
        place = place.repeat_interleave(degree)
        begin = self.rowptr[node] - end + degree
        return place, torch.arange(place.numel(), device=node.device) + begin[place]


@dataclass(frozen=True)
class Roots:
    """Some roots, with a table that has a place for every node of each one's graph.

    Attributes:
        node: The roots.
        shift: What is added to a node to find its place for each root.
        end: Where each root's places end.
    """

    node: Tensor
    shift: Tensor
    end: Tensor

    def table(self) -> Tensor:
        return self.node.new_full((int(self.end[-1]),), -1, dtype=torch.int16)

    def place(self, node: Tensor) -> Tensor:
        """The places of nodes, as many of each root, or some times that, in the same order."""
        return (node.view(-1, self.node.numel()) + self.shift).flatten()

    def locate(self, at: Tensor) -> tuple[Tensor, Tensor]:
        """The root, by its number, and the node of each place."""
        root = torch.searchsorted(self.end, at, right=True)
        return root, at - self.shift[root]


def chunks(ptr: Tensor, edges: InEdges) -> Iterator[tuple[Roots, float]]:
    """All roots, some at a time, and what share of all is done with them."""
    size, num_edges = ptr.diff(), edges.rowptr[ptr].diff()
    first, width, cost = (
        values.repeat_interleave(size) for values in (ptr[:-1], size, size + num_edges)
    )
    done = cost.cumsum(0)
    numbers = (done // CHUNK).unique_consecutive(return_counts=True)[1].tolist()
    for node in torch.arange(done.numel(), device=ptr.device).split(numbers):
        end = width[node].cumsum(0)
        yield Roots(node, end - width[node] - first[node], end), float(done[node[-1]] / done[-1])
