"""The pairs of nodes of a graph, and the triples that hang together."""

from typing import NamedTuple

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.transforms import BaseTransform
from typing_extensions import Self

from graphgym_nc.structures.data import INDICES, attach, check_size
from graphgym_nc.structures.neighbours import Neighbours, ranges
from graphgym_nc.triangles.simple_graph import SimpleGraph, simple_graph

INDICES.update(pair_edge_index='pair_index', triple_edge_index='triple_index')

_WORD = 8
_WORDS_AT_ONCE = 8  # that it takes to find a set, or two that are adjacent


class AddSets(BaseTransform):
    r"""Attaches all pairs of nodes of a graph, and all triples of nodes with two or three edges,
    as the 1-2-3-GNN of `"Weisfeiler and Leman Go Neural" <https://arxiv.org/abs/1810.02244>`_
    needs them.

    Two sets are adjacent if one becomes the other when a node gives way to one of its neighbours.
    The type of a set is that of the graph on its nodes, *i.e.* its number of edges, with the
    labels of its nodes. (The authors' code asks of a triple only whether its first and its last
    node are adjacent, which depends on how nodes are numbered.) Loops, copies and directions of
    edges do not count.

    It attaches :obj:`pair_index` of shape :obj:`[2, num_pairs]` and :obj:`triple_index` of shape
    :obj:`[3, num_triples]`, both in lexicographic order; the adjacent ones,
    :obj:`pair_edge_index` and :obj:`triple_edge_index`, each in both directions; and their types,
    :obj:`pair_type` and :obj:`triple_type`.

    Args:
        labels (bool, optional): If set to :obj:`True`, types tell labels apart, which are
            one-hot features of nodes. (default: :obj:`False`)
    """

    def __init__(self, labels: bool = False) -> None:
        self.labels = labels

    def forward(self, data: Data) -> Data:
        if data.edge_index is None:
            raise ValueError(f"'{self}' needs 'data.edge_index', which {data} does not have")
        graph = simple_graph(data.edge_index, data.num_nodes)
        neighbours = Neighbours.of(graph)
        label = self._label(data, graph)
        batch = data.get('batch')
        if batch is None:
            batch = torch.zeros_like(label)
        pairs, pair_edges = _pairs(neighbours, batch)
        triples, triple_edges, closed = _triples(graph, neighbours)
        adjacent = graph.find(*pairs)[1]
        tensors = {
            'pair_index': pairs, 'pair_edge_index': pair_edges,
            'pair_type': 2 * _rank(label[pairs]) + adjacent,
            'triple_index': triples, 'triple_edge_index': triple_edges,
            'triple_type': 2 * _rank(label[triples]) + closed,
        }  # fmt: skip
        return attach(data, tensors)

    def _label(self, data: Data, graph: SimpleGraph) -> Tensor:
        if not self.labels:
            return torch.zeros_like(graph.rowptr[1:])
        x = data.x
        if (
            x is None
            or x.dim() != 2
            or not bool(((x == 0) | (x == 1)).all())
            or not bool((x.sum(dim=1) == 1).all())
        ):
            raise ValueError(
                f"'{self}' takes the labels of nodes from one-hot features, and {data} has none: "
                "do without labels ('peers.k123.labels: False')"
            )
        return x.argmax(dim=1)

    def __repr__(self) -> str:
        return f'{self.__class__.__name__}(labels={self.labels})'


class Sets(NamedTuple):
    """The sets of one size, as :class:`AddSets` attaches them."""

    node_index: Tensor
    edge_index: Tensor
    type: Tensor

    @classmethod
    def of(cls, data: Data, name: str) -> Self:
        """The sets that a graph or a batch has been given: :obj:`"pair"` or
        :obj:`"triple"`.
        """
        return cls(data[f'{name}_index'], data[f'{name}_edge_index'], data[f'{name}_type'])


def num_types(size: int, num_labels: int = 1) -> int:
    """The number of types of pairs, or of triples, of nodes with so many labels."""
    if size == 2:
        return num_labels * (num_labels + 1)
    return num_labels * (num_labels + 1) * (num_labels + 2) // 3


def _rank(labels: Tensor) -> Tensor:
    """The place of each column's labels among all multisets of that size."""
    labels = labels.sort(dim=0).values
    rank = labels[0] + labels[1] * (labels[1] + 1) // 2
    if labels.size(0) == 3:
        rank = rank + labels[2] * (labels[2] + 1) * (labels[2] + 2) // 6
    return rank


def _pairs(neighbours: Neighbours, batch: Tensor) -> tuple[Tensor, Tensor]:
    """All pairs within each graph, and the adjacent ones."""
    size = torch.bincount(batch)
    first = size.cumsum(0) - size
    node = torch.arange(batch.numel(), device=batch.device)
    after = (first + size)[batch] - node - 1
    # Every node but the two ends of an edge is in two pairs that this edge makes adjacent.
    others = int((size[batch[neighbours.source]] - 2).sum())
    number = int(after.sum())
    check_size(_WORDS_AT_ONCE * _WORD * (number + others), 'the pairs of nodes')
    second, one = ranges(node + 1, after)
    begin = after.cumsum(0) - after

    graph = batch[neighbours.source]
    third, way = ranges(first[graph], size[graph])
    source, target = neighbours.source[way], neighbours.target[way]
    other = (third != source) & (third != target)
    source, target, third = source[other], target[other], third[other]

    def place(u: Tensor, v: Tensor) -> Tensor:
        low = torch.minimum(u, v)
        return begin[low] + (u - v).abs() - 1

    edges = place(source, third) * number + place(target, third)
    return torch.stack([one, second]), _split(edges.sort().values, number)


def _triples(graph: SimpleGraph, neighbours: Neighbours) -> tuple[Tensor, Tensor, Tensor]:
    """All triples with two or three edges, the adjacent ones, and whether there are three."""
    size = graph.num_nodes
    degree = neighbours.degree
    wedges = int((degree * (degree - 1)).sum()) // 2
    check_size(_WORDS_AT_ONCE * _WORD * wedges, 'the triples of nodes')
    entry = torch.arange(neighbours.target.numel(), device=degree.device)
    other, one = ranges(entry + 1, neighbours.rowptr[1:][neighbours.source] - entry - 1)
    middle, low, high = neighbours.source[one], neighbours.target[one], neighbours.target[other]
    closed = graph.find(low, high)[1]
    once = ~closed | (middle < low)  # a triangle has three middles
    triples = torch.stack([middle[once], low[once], high[once]]).sort(dim=0).values
    key, order = ((triples[0] * size + triples[1]) * size + triples[2]).sort()
    triples, closed = triples[:, order], closed[once][order]

    number = triples.size(1)
    most = int(degree[triples].sum())
    check_size(_WORDS_AT_ONCE * _WORD * most, 'the adjacent triples of nodes')
    edges = [_exchanged(triples.roll(i, dims=0), neighbours, key, size) for i in range(3)]
    return triples, _split(torch.cat(edges).sort().values, number), closed


def _exchanged(triples: Tensor, neighbours: Neighbours, key: Tensor, size: int) -> Tensor:
    """The pairs of triples of which the second has, in place of the first row, one of its
    neighbours, as one number each.
    """
    node, *kept = triples
    entry, of = ranges(neighbours.rowptr[node], neighbours.degree[node])
    new = torch.stack([neighbours.target[entry], kept[0][of], kept[1][of]])
    low, middle, high = new.sort(dim=0).values
    wanted = (low * size + middle) * size + high
    found = torch.searchsorted(key, wanted).clamp_(max=max(key.numel() - 1, 0))
    exists = key[found] == wanted  # not so where the neighbour is in the triple already
    return (of * key.numel() + found)[exists]


def _split(pair: Tensor, size: int) -> Tensor:
    """Two numbers below :obj:`size` of each that they were put together in."""
    first = torch.div(pair, max(size, 1), rounding_mode='floor')
    return torch.stack([first, pair - first * size])
