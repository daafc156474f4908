"""Finding triangles, and building what the layers need of them."""

from typing import Any

import scipy.sparse
import torch
from torch import Tensor
from torch_geometric.utils import to_scipy_sparse_matrix

from graphgym_nc import kernels
from graphgym_nc.benchmark.layer import Contestants
from graphgym_nc.benchmark.measure import seconds
from graphgym_nc.benchmark.workloads import Workload
from graphgym_nc.triangles.incidence import TriangleIncidence
from graphgym_nc.triangles.listing import find_triangles

_LAYERS = 4


def measure_triangles(workload: Workload, repeat: int) -> dict[str, Any]:
    """Times listing and building, in milliseconds, beside scipy's counting alone;
    and what share of a network of four layers that is.
    """
    edge_index, num_nodes = workload.data.edge_index, workload.data.num_nodes
    layer = Contestants.of(workload, materialise=False).functions['NC-GNN']

    def on_torch() -> None:
        with kernels.use('torch'):
            TriangleIncidence.build(edge_index, num_nodes)

    times = seconds(
        {
            'list': lambda: find_triangles(edge_index, num_nodes),
            'list + incidence': lambda: TriangleIncidence.build(edge_index, num_nodes),
            'the same, torch': on_torch,
            'scipy, count': lambda: count_by_scipy(edge_index, num_nodes),
            'layer': layer,
        },
        repeat,
        workload.name,
    )
    build, step = times['list + incidence'], _LAYERS * times.pop('layer')
    return {
        'workload': workload.name,
        'graphs': workload.source,
        'triangles': find_triangles(edge_index, num_nodes).size(1),
        **{f'{name}, ms': 1e3 * time for name, time in times.items()},
        'share of 4 layers, %': 100 * build / (build + step),
    }


def count_by_scipy(edge_index: Tensor, num_nodes: int) -> int:
    """Counts triangles by a sparse matrix product."""
    adjacency = to_scipy_sparse_matrix(edge_index.cpu(), torch.ones(edge_index.size(1)), num_nodes)
    adjacency = scipy.sparse.triu(adjacency.tocsr() + adjacency.T.tocsr(), k=1, format='csr')
    adjacency.data[:] = 1
    return int((adjacency @ adjacency).multiply(adjacency).sum())
