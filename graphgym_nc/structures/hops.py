"""K-hop neighbours, with what KP-GNN tells of them."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.transforms import BaseTransform
from typing_extensions import Self

from graphgym_nc.structures.data import attach, check_size
from graphgym_nc.structures.peripheral import USUAL, Peripheral
from graphgym_nc.triangles.csr import CSR
from graphgym_nc.triangles.simple_graph import check_edge_index, plain

Array = NDArray[Any]

#: Which nodes are neighbours at hop :math:`k`: those at distance :math:`k`, or all that a walk of
#: :math:`k` steps leads to (graph diffusion).
KERNELS = ('spd', 'gd')


class KHops(BaseTransform):
    r"""Gives a graph the neighbours that its nodes have at hops :math:`1, \ldots, K`.

    Edges are those of the undirected simple graph: loops are dropped, and duplicates and
    directions do not count. Neighbours at all hops are then mutual. With :math:`C_1`
    :obj:`edge_types` and :math:`C` :obj:`max_walks`, a graph of :math:`n` nodes gets

    * :obj:`hop1_index`, ..., :obj:`hopK_index`: the neighbours at each hop, node by node,
    * :obj:`hop_counts`, of shape :math:`(n, C_1 + (K - 1) C)`: the number of neighbours at hop 1
      with each type of edge, then that at each of the other hops with
      :math:`1, 2, \ldots` and :math:`C` or more walks,
    * :obj:`hop_closed`, of shape :math:`(n, K - 1)`, if :obj:`closed_walks`: the number of
      walks of :math:`2, \ldots, K` steps that lead back, at most :math:`C`,
    * :obj:`hop_edges` and :obj:`hop_levels`, of shape :math:`(n, K, \cdot)`, if
      :obj:`peripheral`: see :class:`~graphgym_nc.structures.peripheral.Peripheral`.

    The neighbours take 8 bytes for each of up to :math:`K n^2` (:obj:`"gd"`) or :math:`n^2`
    (:obj:`"spd"`) pairs.

    Args:
        hops: The number :math:`K` of hops.
        kernel: One of :obj:`KERNELS`.
        max_walks: The largest number of walks between two nodes that is told; 1 for none.
        edge_types: The number of types of edges, which :obj:`edge_attr` gives as numbers or
            one-hot vectors; it is not read if there is but one.
        closed_walks: Whether to count walks that lead back.
        peripheral: What to tell of peripheral subgraphs, if anything.
    """

    def __init__(
        self,
        hops: int = 3,
        kernel: str = 'spd',
        max_walks: int = 1,
        edge_types: int = 1,
        closed_walks: bool = False,
        peripheral: Peripheral | None = USUAL,
    ) -> None:
        if kernel not in KERNELS:
            raise ValueError(f"'kernel' is {kernel!r}, but must be one of {', '.join(KERNELS)}")
        for name, value in (
            ('hops', hops), ('max_walks', max_walks), ('edge_types', edge_types),
        ):  # fmt: skip
            if value < 1:
                raise ValueError(f"'{name}' is {value}, but must be at least 1")
        self.hops = hops
        self.kernel = kernel
        self.max_walks = max_walks
        self.edge_types = edge_types
        self.closed_walks = closed_walks
        self.peripheral = peripheral

    def forward(self, data: Data) -> Data:
        num_nodes = int(data.num_nodes or 0)
        width = self.edge_types + (self.hops - 1) * self.max_walks
        check_size(4 * num_nodes * width, f'the numbers of walks at {self.hops} hops')
        adjacency, kind = self._adjacency(data, num_nodes)
        number = adjacency.shape[0] * self.hops
        described = self.peripheral
        if described is not None:
            check_size(4 * number * (2 * described.types + described.levels + 1),
                       'the peripheral subgraphs')  # fmt: skip
        counts, closed, edges, levels = [], [], [], []
        tensors: dict[str, Tensor] = {}
        for k, (hop, loops) in enumerate(self._powers(adjacency), 1):
            code, size = (kind, self.edge_types) if k == 1 else (hop.data - 1, self.max_walks)
            row = np.repeat(np.arange(num_nodes), np.diff(hop.indptr))
            count = np.bincount(row * size + code, minlength=num_nodes * size)
            counts.append(count.reshape(num_nodes, size).astype(np.int32))
            closed.append(loops)
            tensors[f'hop{k}_index'] = torch.from_numpy(hop.indices.astype(np.int64))
            if described is not None:
                told = described.of(adjacency, kind, hop)
                edges.append(told[0])
                levels.append(told[1])
        tensors['hop_counts'] = torch.from_numpy(np.concatenate(counts, axis=1))
        if self.closed_walks:
            loops = np.stack(closed, axis=1)[:, 1:].clip(max=self.max_walks)
            tensors['hop_closed'] = torch.from_numpy(loops.astype(np.int32))
        if described is not None:
            tensors['hop_edges'] = torch.from_numpy(np.stack(edges, axis=1))
            tensors['hop_levels'] = torch.from_numpy(np.stack(levels, axis=1))
        device = data.edge_index.device
        return attach(data, {name: tensor.to(device) for name, tensor in tensors.items()})

    def _adjacency(self, data: Data, num_nodes: int) -> tuple[sp.csr_array, Array]:
        """The symmetric adjacency matrix, and the type of each of its entries."""
        if data.edge_index is None:
            raise ValueError(f"'{self}' needs 'data.edge_index', which {data} does not have")
        edge_index = plain(data.edge_index).cpu().long()
        check_edge_index(edge_index, num_nodes)
        source, target = edge_index.numpy()
        kind = np.zeros_like(source) if self.edge_types == 1 else self._types(data)
        other = source != target
        source, target, kind = source[other], target[other], kind[other]
        key = np.concatenate([source * num_nodes + target, target * num_nodes + source])
        key, place = np.unique(key, return_inverse=True)
        merged = np.zeros(key.size, np.int64)
        np.maximum.at(merged, place, np.tile(kind, 2))
        row, col = np.divmod(key, max(num_nodes, 1))
        indptr = np.searchsorted(row, np.arange(num_nodes + 1))
        matrix = sp.csr_array((np.ones_like(key), col, indptr), shape=(num_nodes, num_nodes))
        return matrix, merged

    def _types(self, data: Data) -> Array:
        edge_attr = data.edge_attr
        if edge_attr is None:
            raise ValueError(f"'edge_types' is {self.edge_types}, but {data} has no 'edge_attr'")
        if edge_attr.dim() > 1:
            one_hot = edge_attr.size(1) > 1
            edge_attr = edge_attr.argmax(dim=1) if one_hot else edge_attr.squeeze(1)
        kind = edge_attr.cpu().numpy().astype(np.int64)
        if kind.size > 0 and not 0 <= kind.min() <= kind.max() < self.edge_types:
            raise ValueError(
                f"'edge_types' is {self.edge_types}, but 'edge_attr' holds types from "
                f'{kind.min()} to {kind.max()}'
            )
        return kind

    def _powers(self, adjacency: sp.csr_array) -> Iterator[tuple[sp.csr_array, Array]]:
        """The number of walks of each length to the neighbours at that hop, and back, up to
        :obj:`max_walks`. (Numbers of steps are clipped on the way, which does not change that.)
        """
        num_nodes = adjacency.shape[0]
        walks = seen = adjacency
        if self.kernel == 'spd' and not self.closed_walks:
            seen = adjacency + sp.eye_array(num_nodes, dtype=np.int64, format='csr')
        yield adjacency, np.zeros(num_nodes, np.int64)
        component = connected_components(adjacency, directed=False)[1]
        reach = np.bincount(component)[component] if num_nodes else component
        for _ in range(1, self.hops):
            self._check_product(walks, adjacency, reach)
            walks = walks @ adjacency
            np.minimum(walks.data, self.max_walks, out=walks.data)
            loops = walks.diagonal()
            hop = walks - sp.diags_array(loops, dtype=np.int64, format='csr')
            if self.kernel == 'spd':
                hop = hop - hop.multiply(seen > 0)
            hop.eliminate_zeros()
            hop.sort_indices()
            if self.kernel == 'spd':
                seen = seen + hop
                if not self.closed_walks:
                    walks = hop  # a shortest walk goes on from a shortest walk
            yield hop, loops

    def _check_product(self, walks: sp.csr_array, adjacency: sp.csr_array, reach: Array) -> None:
        """Bounds what the next hop will take, by its walks and by the sizes of components."""
        steps = np.diff(adjacency.indptr)[walks.indices]
        until = np.concatenate([[0], np.cumsum(steps)])[walks.indptr]
        number = int(np.minimum(np.diff(until), reach).sum())
        check_size(4 * 16 * number, f'the neighbours at {self.hops} hops')

    def __repr__(self) -> str:
        return (
            f'{type(self).__name__}(hops={self.hops}, kernel={self.kernel}, '
            f'max_walks={self.max_walks}, edge_types={self.edge_types}, '
            f'closed_walks={self.closed_walks}, peripheral={self.peripheral})'
        )


class Hops(NamedTuple):
    r"""The neighbours at hops :math:`1, \ldots, K`, as layers sum over them.

    Attributes:
        rowptr: Where the neighbours of each node at each hop begin, hop by hop, of shape
            :math:`(K n + 1)`.
        col: The neighbours, where those at hop :math:`k` are numbered from :math:`(k - 1) n`.
        sizes: The number of all neighbours at each hop.
        counts: See :obj:`hop_counts` of :class:`KHops`; one tensor for each hop.
        closed: See :obj:`hop_closed` of :class:`KHops`.
        edges: See :obj:`hop_edges` of :class:`KHops`.
        levels: See :obj:`hop_levels` of :class:`KHops`.
    """

    rowptr: Tensor
    col: Tensor
    sizes: Sequence[int]
    counts: Sequence[Tensor]
    closed: Tensor | None = None
    edges: Tensor | None = None
    levels: Tensor | None = None

    @classmethod
    def of(cls, data: Data, structure: KHops) -> Self:
        """Those of a graph, or a batch.

        Args:
            data: The graph or batch.
            structure: What it has gone through.

        Raises:
            ValueError: If it has not.
        """
        hops, told = structure.hops, structure.peripheral
        widths = [structure.edge_types, *[structure.max_walks] * (hops - 1)]
        shapes: dict[str, tuple[int, ...]] = {f'hop{hops}_index': (), 'hop_counts': (sum(widths),)}
        if structure.closed_walks:
            shapes['hop_closed'] = (hops - 1,)
        if told is not None:
            shapes |= {'hop_edges': (hops, told.types, 2), 'hop_levels': (hops, told.levels + 1)}
        if any(name not in data or data[name].shape[1:] != shapes[name] for name in shapes):
            raise ValueError(f'{data} must go through {structure} first')
        counts = data.hop_counts.split(widths, dim=1)
        degree = torch.stack([count.sum(dim=1) for count in counts])
        rowptr = torch.nn.functional.pad(degree.flatten().cumsum(0), (1, 0))
        index = [data[f'hop{k}_index'] for k in range(1, hops + 1)]
        col = torch.cat([nodes + k * degree.size(1) for k, nodes in enumerate(index)])
        more = (data.get(f'hop_{name}') for name in ('closed', 'edges', 'levels'))
        return cls(rowptr, col, [nodes.numel() for nodes in index], counts, *more)

    def sum(self, x: Tensor) -> Tensor:
        r"""Sums over the neighbours at each of the first hops.

        Args:
            x: What each node shows to each hop, of shape :math:`(k, n, d)` for the first
                :math:`k \leq K` hops.

        Returns:
            The sums, of the same shape.
        """
        rowptr = self.rowptr[: x.size(0) * x.size(1) + 1]
        col = self.col[: sum(self.sizes[: x.size(0)])]
        matrix = CSR(rowptr, col, rowptr, col)  # as neighbours are mutual
        return matrix.row_sum(x.flatten(0, 1)).view_as(x)
