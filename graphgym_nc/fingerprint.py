"""Fingerprints of graphs and data sets.

The one of a graph tells whether an attached :obj:`triangle_index` still belongs
to it. Samplers, :meth:`~torch_geometric.data.Data.subgraph` and transforms change
:obj:`edge_index` and leave attributes they do not know as they are. So
:class:`~graphgym_nc.transforms.AddTriangles` notes, beside the triangles, a
fingerprint of the edges that they were found on.
"""

import hashlib

import torch
from torch import Tensor
from torch_geometric.data import Data


def edge_fingerprint(
    edge_index: Tensor, graph: Tensor | None = None, num_graphs: int = 1
) -> Tensor:
    """A 64-bit hash of the edges of every graph, whatever their order.

    Args:
        edge_index: The edges, with nodes numbered within their graph, of shape
            :obj:`[2, E]`.
        graph: The graph of each edge, of shape :obj:`[E]`.
        num_graphs: The number of graphs.

    Returns:
        The fingerprints, of shape :obj:`[num_graphs]`.
    """
    source, target = edge_index.long()
    digest = _mix(_mix(source + 1) + target)
    if graph is None:
        return digest.sum().view(1)
    return digest.new_zeros(num_graphs).index_add_(0, graph, digest)


def still_belongs(data: Data) -> bool:
    """Whether :obj:`data.triangle_index` is there and was found on just these
    edges.
    """
    edge_index = data.edge_index
    if edge_index is None or 'triangle_index' not in data or 'triangle_check' not in data:
        return False
    check = data.triangle_check
    batch, ptr = data.get('batch'), data.get('ptr')
    if batch is None or ptr is None or ptr.numel() == 2:
        return torch.equal(edge_fingerprint(edge_index), check)
    if check.numel() != ptr.numel() - 1:
        return False
    graph = batch[edge_index[0]]
    found = edge_fingerprint(edge_index - ptr[graph], graph, check.numel())
    return torch.equal(found, check)


def data_fingerprint(data: Data) -> str:
    """A hash of all tensors of a data set, to tell whether two runs have seen
    the same.
    """
    digest = hashlib.sha256()
    for key, value in sorted(data.to_dict().items()):
        if isinstance(value, Tensor):
            digest.update(f'{key} {value.dtype} {list(value.shape)}'.encode())
            flat = value.detach().cpu().contiguous().view(-1)
            digest.update(flat.view(torch.uint8).numpy().data)
    return digest.hexdigest()[:16]


def _mix(value: Tensor) -> Tensor:
    """A bijection of 64-bit integers that scatters them (splitmix64's)."""
    value = value * -7046029254386353131
    value = (value ^ (value >> 30)) * -4658895280553007687
    value = (value ^ (value >> 27)) * -7723592293110705685
    return value ^ (value >> 31)
