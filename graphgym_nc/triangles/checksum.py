"""Fingerprints of graphs.

They tell whether an attached :obj:`triangle_index` still belongs
to it. Samplers, :meth:`~torch_geometric.data.Data.subgraph` and transforms change
:obj:`edge_index` and leave attributes they do not know as they are. So
:class:`~graphgym_nc.transforms.AddTriangles` notes, beside the triangles, a
fingerprint of the edges that they were found on, and of themselves.
"""

import torch
from torch import Tensor
from torch_geometric.data import Data


def fingerprint(index: Tensor, graph: Tensor | None = None, num_graphs: int = 1) -> Tensor:
    """A 64-bit hash of the edges or triangles of every graph, whatever their
    order.

    Args:
        index: The edges or triangles, with nodes numbered within their graph,
            of shape :obj:`[2, E]` or :obj:`[3, T]`.
        graph: The graph of each column, if there are several.
        num_graphs: The number of graphs.

    Returns:
        The fingerprints, of shape :obj:`[num_graphs]`.
    """
    digest = index.new_full((index.size(1),), index.size(0), dtype=torch.long)
    for row in index.long():
        digest = _mix(digest + row)
    if graph is None:
        return digest.sum().view(1)
    return digest.new_zeros(num_graphs).index_add_(0, graph, digest)


def triangle_check(edge_index: Tensor, triangle_index: Tensor) -> Tensor:
    """What to note beside the triangles of a graph, of shape :obj:`[1]`."""
    return fingerprint(edge_index) + fingerprint(triangle_index)


def still_belongs(data: Data) -> bool:
    """Whether :obj:`data.triangle_index` is there, complete, and was found on
    just these edges.
    """
    edge_index = data.edge_index
    if edge_index is None or 'triangle_index' not in data or 'triangle_check' not in data:
        return False
    triangle_index, check = data.triangle_index, data.triangle_check
    batch, ptr = data.get('batch'), data.get('ptr')
    if batch is None or ptr is None or ptr.numel() == 2:
        return torch.equal(triangle_check(edge_index, triangle_index), check)
    if check.numel() != ptr.numel() - 1:
        return False
    if triangle_index.numel() > 0 and int(triangle_index.max()) >= batch.numel():
        return False
    found = torch.zeros_like(check)
    for index in (edge_index, triangle_index):
        graph = batch[index[0]]
        found += fingerprint(index - ptr[graph], graph, check.numel())
    return torch.equal(found, check)


def _mix(value: Tensor) -> Tensor:
    """A bijection of 64-bit integers that scatters them (splitmix64's)."""
    value = value * -7046029254386353131
    value = (value ^ _shift(value, 30)) * -4658895280553007687
    value = (value ^ _shift(value, 27)) * -7723592293110705685
    return value ^ _shift(value, 31)


def _shift(value: Tensor, bits: int) -> Tensor:
    # torch shifts the sign in; a hash needs zeros.
    return (value >> bits) & ((1 << (64 - bits)) - 1)
