"""Rooted subgraphs: one for every node of a graph, all in one form."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property

import torch
import torch.nn.functional as F
from torch import Tensor
from torch_geometric.data import Batch, Data
from torch_geometric.transforms import BaseTransform

from graphgym_nc.structures.data import INDICES, attach, check_size
from graphgym_nc.structures.roots import InEdges, Roots, chunks
from graphgym_nc.triangles.csr import CSR, index_dtype
from graphgym_nc.triangles.simple_graph import offsets

for _prefix in ('sub', 'drop'):
    INDICES.update({
        f'{_prefix}_edge': 'edge_index',
        f'{_prefix}_edge_index': f'{_prefix}_index',
        f'{_prefix}_root_row': f'{_prefix}_index',
        f'{_prefix}_est_row': f'{_prefix}_index',
    })  # fmt: skip


@dataclass(frozen=True, eq=False)
class Subgraphs:
    """A subgraph around each of some nodes, its root, all side by side as one graph whose nodes
    are called rows. Rows of a root are one after the other, and edges of a row, too.

    Attributes:
        index: The node of the graph that every row is, of shape :obj:`[num_rows]`.
        edge: The column of :obj:`edge_index` of the graph that every edge is.
        edge_index: The edges from row to row, of shape :obj:`[2, num_sub_edges]`.
        root_index: The root of every row.
        root_row: The row of every root, of shape :obj:`[num_roots]`.
        hop: The distance of every row from its root within its subgraph, against the direction
            of the edges; -1 if there is no way.
        est_index: If only some nodes have a subgraph (see
            :class:`~graphgym_nc.structures.subgraph_drop.SubgraphDrop`), nodes, and
        est_row: rows of roots, whose embeddings, times
        est_weight: weights, are added up for each node.
        scale: How many subgraphs a node would be in if all were there, for each that it is in.
    """

    index: Tensor
    edge: Tensor
    edge_index: Tensor
    root_index: Tensor
    root_row: Tensor
    hop: Tensor
    est_index: Tensor | None = None
    est_row: Tensor | None = None
    est_weight: Tensor | None = None
    scale: Tensor | None = None

    @staticmethod
    def of(data: Data, prefix: str = 'sub') -> 'Subgraphs':
        """The subgraphs that a transform has given a graph, or a batch.

        Raises:
            ValueError: If it has none.
        """
        if f'{prefix}_index' not in data:
            raise ValueError(
                "the graph has no rooted subgraphs: apply a transform such as 'EgoNets' to it"
            )
        return Subgraphs(*(data.get(f'{prefix}_{field.name}') for field in fields(Subgraphs)))

    def tensors(self, prefix: str = 'sub') -> dict[str, Tensor]:
        """All tensors, by the names that a graph knows them under."""
        values = {f'{prefix}_{field.name}': getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if value is not None}

    @property
    def num_rows(self) -> int:
        return self.index.size(0)

    @cached_property
    def adjacency(self) -> CSR:
        """Rows times rows: the senders of every row's edges."""
        sender, receiver = self.edge_index.to(index_dtype(self.num_rows, self.edge.numel()))
        rowptr = offsets(receiver, self.num_rows).to(sender.dtype)
        return CSR.from_rows(rowptr, sender, self.num_rows)


def ego_nets(edge_index: Tensor, ptr: Tensor, hops: int) -> Subgraphs:
    r"""The subgraphs induced by all nodes from which a root is reached in :obj:`hops` steps.

    In memory :math:`\mathcal{O}(\sum_v \sum_{u \in \mathcal{N}_k(v)} \deg(u))`. The time is that
    and :math:`\mathcal{O}(k n^2)` for each graph of :math:`n` nodes, to look for them in tables.

    Args:
        edge_index: The edges of one or more graphs, of shape :obj:`[2, num_edges]`.
        ptr: The first node of every graph, and the number of all nodes.
        hops: The number of steps.
    """

    def find(roots: Roots, edges: InEdges) -> Tensor:
        at, distance = roots.place(roots.node), roots.table()
        distance[at] = 0
        for hop in range(1, hops + 1):
            root, node = roots.locate(at)
            row, slot = edges.into(node)
            at = roots.shift[root][row] + edges.source[slot]
            distance[at[distance[at] < 0]] = hop
            at = (distance == hop).nonzero().flatten()
            if at.numel() == 0:
                break
        return distance

    return _induced(edge_index, ptr, find, f'the rooted subgraphs of {hops} hops')


def walk_subgraphs(edge_index: Tensor, ptr: Tensor, length: int, repeat: int) -> Subgraphs:
    """The subgraphs induced by the nodes of random walks from each root, against the direction of
    the edges. A walk stays where no edge ends.

    Args:
        edge_index: The edges of one or more graphs, of shape :obj:`[2, num_edges]`.
        ptr: The first node of every graph, and the number of all nodes.
        length: The number of steps of a walk.
        repeat: The number of walks from every root.
    """

    def find(roots: Roots, edges: InEdges) -> Tensor:
        inside, node = roots.table(), roots.node.repeat(repeat)
        inside[roots.place(roots.node)] = 0
        source = F.pad(edges.source, (0, 1))  # for nodes without edges, behind the last
        for _ in range(length):
            degree = edges.degree[node]
            drawn = torch.rand(node.numel(), device=node.device) * degree
            node = torch.where(degree > 0, source[edges.rowptr[node] + drawn.long()], node)
            inside[roots.place(node)] = 0
        return inside

    what = f'the subgraphs of {repeat} walks of {length} steps'
    found = _induced(edge_index, ptr, find, what)
    return replace(found, hop=_distances(found, length))


def _distances(subgraphs: Subgraphs, largest: int) -> Tensor:
    """The distance of every row from its root, if it is not too far."""
    hop = torch.full_like(subgraphs.hop, -1)
    hop[subgraphs.root_row] = 0
    sender, receiver = subgraphs.edge_index
    for distance in range(1, largest + 1):
        reached = sender[(hop[receiver] == distance - 1) & (hop[sender] < 0)]
        if reached.numel() == 0:
            break
        hop[reached] = distance
    return hop


class EgoNets(BaseTransform):
    """Gives every node of a graph, or of a batch, its ego net of :obj:`hops` hops: see
    :meth:`ego_nets`.

    Args:
        hops: The number of hops.
    """

    def __init__(self, hops: int) -> None:
        self.hops = hops

    def forward(self, data: Data) -> Data:
        return attach(data, ego_nets(data.edge_index, _ptr(data), self.hops).tensors())

    def __repr__(self) -> str:
        return f'{type(self).__name__}(hops={self.hops})'


class WalkSubgraphs(BaseTransform):
    """Gives every node of a graph, or of a batch, the subgraph of random walks from it, drawn
    anew each time with torch's generator: see :meth:`walk_subgraphs`.

    Args:
        length: The number of steps of a walk.
        repeat: The number of walks from every node.
    """

    random = True

    def __init__(self, length: int, repeat: int) -> None:
        self.length, self.repeat = length, repeat

    def forward(self, data: Data) -> Data:
        found = walk_subgraphs(data.edge_index, _ptr(data), self.length, self.repeat)
        return attach(data, found.tensors())

    def __repr__(self) -> str:
        return f'{type(self).__name__}(length={self.length}, repeat={self.repeat})'


def _ptr(data: Data) -> Tensor:
    """The first node of every graph, and the number of all nodes."""
    if isinstance(data, Batch):
        return data.ptr
    return torch.tensor([0, data.num_nodes], device=data.edge_index.device)


def _induced(
    edge_index: Tensor, ptr: Tensor, find: Callable[[Roots, InEdges], Tensor], what: str
) -> Subgraphs:
    """The subgraphs induced by the nodes that are found around each root.

    Args:
        edge_index: The edges of one or more graphs.
        ptr: The first node of every graph, and the number of all nodes.
        find: Gives a table for some roots, which is -1 at the nodes outside of their subgraphs,
            and the distance at all others.
        what: What they are.
    """
    edges = InEdges.of(edge_index, int(ptr[-1]))
    empty = edge_index.new_empty(0)
    parts = [(empty, empty, edge_index[:, :0], empty, empty, empty)]
    num_rows = nbytes = 0
    for roots, done in chunks(ptr, edges):
        table = find(roots, edges)
        at = (table >= 0).nonzero().flatten()
        root, node = roots.locate(at)
        hop = table[at].long()
        number = torch.full_like(table, -1, dtype=torch.long)
        number[at] = torch.arange(num_rows, num_rows + at.numel(), device=at.device)
        row, slot = edges.into(node)
        sender = number[roots.shift[root][row] + edges.source[slot]]
        inside = (sender >= 0).nonzero().flatten()
        sub_edge_index = torch.stack([sender[inside], num_rows + row[inside]])
        root_row = number[roots.place(roots.node)]
        part = (
            node, edges.column[slot[inside]], sub_edge_index, roots.node[root], root_row, hop,
        )  # fmt: skip
        parts.append(part)
        num_rows += at.numel()
        nbytes += sum(tensor.numel() * tensor.element_size() for tensor in part)
        check_size(int(nbytes / done), what)
    return Subgraphs(*(torch.cat(tensors, dim=-1) for tensors in zip(*parts, strict=True)))
