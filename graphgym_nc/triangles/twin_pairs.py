"""Edges between the twins of the same two nodes, as one."""

from dataclasses import dataclass

import torch
from torch import Tensor

from graphgym_nc.triangles.csr import CSR
from graphgym_nc.triangles.incidence import TriangleIncidence


@dataclass(frozen=True, eq=False)
class TwinPairs:
    r"""The edges of a :class:`~graphgym_nc.TriangleIncidence`, where those between the
    twins of the same two nodes are one: a *pair*.

    Nodes with the same closed neighbourhood and the same features have the same
    features after any number of layers that treat all nodes alike. So a network over
    the edges runs once for each pair, if BatchNorm counts the messages of all its
    edges. A pair :math:`p` of :math:`n_p` edges with the value :math:`\mathbf{z}_p` adds
    :math:`n_p \mathbf{z}_p` to the sums of :class:`~graphgym_nc.TriangleIncidence`,
    where a node with :math:`c` twins (itself included) takes off the :math:`c`-th part of
    all that its twins have at their ends.

    The gradient of a pair goes to the first twins of both nodes, and none to the others.
    To whatever has computed the features of all of them alike, this is the same.

    Attributes:
        incidence: The edges as they were.
        endpoints: Pairs times nodes: the first twins of both ends, which is twice
            the same for edges among twins.
        size: The number of edges of every pair, of shape :obj:`[num_edges]`.
        weight: The number of messages that they send, of shape :obj:`[num_edges]`.
        twins: The number of twins of every first twin, of shape
            :obj:`[num_nodes, 1]`.
    """

    incidence: TriangleIncidence
    endpoints: CSR
    size: Tensor
    weight: Tensor
    twins: Tensor

    @staticmethod
    def of(incidence: TriangleIncidence, x: Tensor) -> 'TwinPairs | None':
        """The pairs of a graph, or :obj:`None` if its twins are too few, or not alike.

        Args:
            incidence: The edges.
            x: The features of all nodes, of shape :obj:`[num_nodes, channels]`.
        """
        if incidence.twins is None or incidence.num_messages > torch.iinfo(torch.int32).max:
            return None
        sums, first = incidence.twins.sums, incidence.twins.first.col
        if not _is_simple(incidence) or not torch.equal(x.index_select(0, first), x):
            return None
        number = incidence.opposite.num_cols
        first_edge = sums.col[sums.rowptr[:number]]
        size = sums.rowptr[: number + 1].diff()
        ends = first[incidence.endpoints.col.view(-1, 2)[first_edge]]
        return TwinPairs(
            incidence,
            CSR.from_lists(ends, incidence.num_nodes),
            size,
            size * incidence.weight[first_edge],
            torch.bincount(first, minlength=incidence.num_nodes).clamp_(min=1)[:, None],
        )

    @property
    def num_nodes(self) -> int:
        return self.incidence.num_nodes

    @property
    def num_edges(self) -> int:
        return self.weight.numel()

    @property
    def num_messages(self) -> int:
        return self.incidence.num_messages

    @property
    def messages(self) -> Tensor:
        return self.incidence.messages

    def sum_opposite(self, src: Tensor) -> Tensor:
        """See :meth:`~graphgym_nc.TriangleIncidence.sum_opposite`."""
        assert self.incidence.twins is not None
        of_pairs = src * self.size[:, None]
        own = self.endpoints.transposed.row_sum(of_pairs) / self.twins
        return self.incidence.twins.first.row_sum(self.incidence.opposite.row_sum(of_pairs) - own)

    def gather_opposite(self, src: Tensor) -> Tensor:
        """See :meth:`~graphgym_nc.TriangleIncidence.gather_opposite`."""
        assert self.incidence.twins is not None
        first = self.incidence.twins.first.transposed.row_sum(src)
        own = self.endpoints.row_sum(first / self.twins)
        return (self.incidence.opposite.transposed.row_sum(first) - own) * self.size[:, None]


def _is_simple(incidence: TriangleIncidence) -> bool:
    """Whether the sum over neighbours is that of the undirected simple graph, as that over
    triangles always is: edges are there in both directions, in order and each once.
    """
    (source, target), neighbours = incidence.edge_index, incidence.neighbours
    key = source * incidence.num_nodes + target
    ascending_without_loops = (key[1:] > key[:-1]).all() & (source != target).all()
    return (
        bool(ascending_without_loops)
        and torch.equal(neighbours.rowptr, neighbours.rowptr_t)
        and torch.equal(neighbours.col, neighbours.col_t)
    )
