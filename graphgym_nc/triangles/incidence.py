"""What a layer needs to know of the triangles of a batch."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import to_undirected

from graphgym_nc import kernels
from graphgym_nc.triangles.build import parts_by_kernels, parts_by_torch
from graphgym_nc.triangles.checksum import fingerprint, still_belongs
from graphgym_nc.triangles.csr import CSR
from graphgym_nc.triangles.simple_graph import check_edge_index, plain
from graphgym_nc.triangles.twins import Twins

if TYPE_CHECKING:
    from graphgym_nc.triangles.twin_pairs import TwinPairs


@dataclass(frozen=True, eq=False)
class TriangleIncidence:
    r"""Which edges lie opposite which nodes, in a form that is built once per
    batch and shared by all layers.

    Only edges that lie on a triangle appear. See
    :meth:`~graphgym_nc.find_triangles` for what counts as a triangle.

    *Twins* are nodes with the same closed neighbourhood, such as those of a
    clique. All edges between the twins of :math:`a` and those of :math:`b` have the
    same nodes opposite to them, and their own ends. Those nodes come with all their
    twins. So for a node :math:`v` and its edges :math:`\mathcal{E}_v`,

    .. math::
        \sum_{e \text{ opposite } v} \mathbf{z}_e =
        \sum_{\{a, b\}} \sum_{e \text{ between}} \mathbf{z}_e
        - \sum_{e \in \mathcal{E}_v} \mathbf{z}_e,

    where the first sum is over the pairs whose twins are all adjacent to
    :math:`v` or :math:`v` itself. It is the same for all twins of
    :math:`v`, and is taken for the first of them alone, where that is much less to
    add up. (What is added and taken off again is rounded twice: an edge with a value
    beyond all others costs the sums at its own ends their precision.)

    Attributes:
        neighbours: Nodes times nodes: the sources of every node's edges, as
            often as :obj:`edge_index` has them.
        endpoints: Edges times nodes: the two ends of every edge.
        opposite: Nodes times edges: the edges among a node's neighbours. With
            :obj:`twins`, nodes times pairs: those that are summed up at a first
            twin, and none at any other node.
        twins: The twins of all nodes; :obj:`None` if they are not made use of.
        weight: The number of triangles on every edge, *i.e.* of messages
            that it sends, of shape :obj:`[num_edges]`.
        messages: The number of triangles at every node, *i.e.* of messages that
            it receives, of shape :obj:`[num_nodes]`.
        edge_id: The edge that each column of the original :obj:`edge_index`
            stands for, :obj:`num_edges` if it lies on no triangle, of shape
            :obj:`[E]`.
        num_messages: The number of all messages.
        edge_index: The edges that all this was built from, of shape
            :obj:`[2, E]`.
        pairs: The pairs of twins, where a network has made sure that their features are
            always the same.
    """

    neighbours: CSR
    endpoints: CSR
    opposite: CSR
    twins: Twins | None
    weight: Tensor
    messages: Tensor
    edge_id: Tensor
    num_messages: int
    edge_index: Tensor
    pairs: 'TwinPairs | None' = None

    def __post_init__(self) -> None:
        version = 0 if torch.compiler.is_compiling() else _version(self.edge_index)
        object.__setattr__(self, '_version', version)

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.__post_init__()  # a tensor that comes from another process has a version of its own

    @staticmethod
    @torch.inference_mode(False)  # it may serve in training yet
    def build(
        edge_index: Tensor, num_nodes: int | None = None, triangle_index: Tensor | None = None
    ) -> 'TriangleIncidence':
        """Builds the incidence of a graph or batch of graphs.

        Args:
            edge_index: The edges, of shape :obj:`[2, E]`.
            num_nodes: The number of nodes, *i.e.* :obj:`max(edge_index) + 1` if not given.
            triangle_index: All triangles of the graph, each once, as
                :meth:`~graphgym_nc.find_triangles` gives them; found here if
                not given.

        Raises:
            ValueError: If :obj:`triangle_index` holds a triangle whose edges
                are not in :obj:`edge_index`, or one twice.
        """
        edges = plain(edge_index)
        if num_nodes is None:
            num_nodes = check_edge_index(edges, None)
        if triangle_index is None and kernels.enabled(edges):
            parts = parts_by_kernels(edges, num_nodes)
        else:
            parts = parts_by_torch(edges, num_nodes, triangle_index)
        return TriangleIncidence(**parts, edge_index=edge_index)

    @staticmethod
    def from_data(data: Data) -> 'TriangleIncidence':
        """Builds the incidence of a :class:`~torch_geometric.data.Data` or
        :class:`~torch_geometric.data.Batch`.

        An attached :obj:`triangle_index` is used only if it still belongs to
        the edges (sampling and cutting graphs leaves it behind unchanged), and if
        that is faster than finding the triangles, as kernels do.
        """
        if data.edge_index is None:
            raise ValueError("the graph has no 'edge_index'")
        attached = not kernels.enabled(plain(data.edge_index)) and still_belongs(data)
        triangle_index = data.triangle_index if attached else None
        return TriangleIncidence.build(data.edge_index, cast(int, data.num_nodes), triangle_index)

    @property
    def num_nodes(self) -> int:
        return self.messages.numel()

    @property
    def num_edges(self) -> int:
        return self.weight.numel()

    def is_of(self, edge_index: Tensor) -> bool:
        """Whether this was built from this very tensor, or last compared with it, and it has
        not changed since. (Tensors of inference mode do not note changes, and compilers do
        not look at them.)
        """
        return edge_index is self.edge_index and self._is_unchanged()

    def belongs_to(self, edge_index: Tensor) -> bool:
        """Whether this was built from just these edges. Another tensor is compared, which
        waits for its device, and remembered, so that it need not be compared again.
        """
        if self.is_of(edge_index):
            return True
        if torch.compiler.is_compiling():  # which cannot look at what is in a tensor
            return self.edge_id.numel() == edge_index.size(1)
        if (
            not self._is_unchanged()
            or edge_index.device != self.edge_index.device
            or not torch.equal(edge_index, self.edge_index)
        ):
            return False
        object.__setattr__(self, 'edge_index', edge_index)
        self.__post_init__()
        return True

    def check(self, edge_index: Tensor, in_order: bool = True) -> None:
        """Makes sure that this was built from these edges. Of edges on another device than
        the CPU, it looks at the number alone, as their contents would have to be waited for.

        Args:
            edge_index: The edges, of shape :obj:`[2, E]`.
            in_order: Whether they must have the same order and copies, which those of a sparse
                matrix need not have.

        Raises:
            ValueError: If it was built from others.
        """
        compared = kernels.can_read(plain(edge_index)) and not torch.compiler.is_compiling()
        same = self.belongs_to if in_order else self._connects
        if (in_order and self.edge_id.numel() != edge_index.size(1)) or (
            compared and not same(edge_index)
        ):
            raise ValueError(
                "'triangle_index' was built from other edges than 'edge_index', or from edges "
                "that have changed since: build it from these, with 'TriangleIncidence.build'"
            )

    def _connects(self, edge_index: Tensor) -> bool:
        """Whether this has just these edges, in any order and direction."""
        ours, theirs = plain(self.edge_index), plain(edge_index)
        if not self._is_unchanged() or ours.device != theirs.device:
            return False
        hashes = [fingerprint(edges) + fingerprint(edges.flip(0)) for edges in (ours, theirs)]
        # They also differ if one has an edge more often.
        return torch.equal(*hashes) or torch.equal(to_undirected(ours), to_undirected(theirs))

    def _is_unchanged(self) -> bool:
        return torch.compiler.is_compiling() or _version(self.edge_index) == vars(self)['_version']

    @property
    def sums(self) -> CSR:
        """All that is summed up straight from the edges, times edges: what every node sums up,
        or with :obj:`twins`, the edges of every pair and then those at every node.
        """
        return self.opposite if self.twins is None else self.twins.sums

    def from_sums(self, sums: Tensor) -> Tensor:
        """Makes of :attr:`sums`, of shape :obj:`[num_sums, channels]`, those over the edges
        opposite to every node.
        """
        if self.twins is None:
            return sums
        of_pairs, own = sums.split([self.opposite.num_cols, self.num_nodes])
        return self.twins.first.row_sum(self.opposite.row_sum(of_pairs)) - own

    def to_sums(self, src: Tensor) -> Tensor:
        """The transpose of :meth:`from_sums`."""
        if self.twins is None:
            return src
        first = self.twins.first.transposed.row_sum(src)
        return torch.cat([self.opposite.transposed.row_sum(first), -src])

    def sum_opposite(self, src: Tensor) -> Tensor:
        """Sums :obj:`src`, of shape :obj:`[num_edges, channels]`, over the edges
        opposite to every node.
        """
        return self.from_sums(self.sums.row_sum(src))

    def gather_opposite(self, src: Tensor) -> Tensor:
        """Sums :obj:`src`, of shape :obj:`[num_nodes, channels]`, over the nodes
        opposite to every edge: the transpose of :meth:`sum_opposite`.
        """
        return self.sums.transposed.row_sum(self.to_sums(src))

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

    def to(
        self, device: Any, non_blocking: bool = False, edge_index: Tensor | None = None
    ) -> 'TriangleIncidence':
        """Moves the incidence to a device.

        Args:
            device: The device.
            non_blocking: Whether not to wait for it, if memory is pinned.
            edge_index: The edges, if these have been moved already.
        """
        base = self if edge_index is None else replace(self, edge_index=edge_index)
        return base._map(lambda part: part.to(device, non_blocking=non_blocking))

    def pin_memory(self) -> 'TriangleIncidence':
        """Copies the incidence to pinned memory."""
        return self._map(lambda part: part.pin_memory())

    def _map(self, function: Callable[[Any], Any]) -> 'TriangleIncidence':
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return TriangleIncidence(
            **{
                name: function(value) if isinstance(value, (Tensor, CSR, Twins)) else value
                for name, value in values.items()
            }
        )

    def __repr__(self) -> str:
        return (
            f'{self.__class__.__name__}(num_nodes={self.num_nodes}, '
            f'num_edges={self.num_edges}, num_triangles={self.num_messages // 3})'
        )


def _version(tensor: Tensor) -> int:
    # Tools of torch put something else in the place of every tensor.
    return 0 if not isinstance(tensor, Tensor) or tensor.is_inference() else tensor._version


# So that `torch.export` takes an incidence as an argument.
for part in (CSR, Twins, TriangleIncidence):
    torch.export.register_dataclass(part)
