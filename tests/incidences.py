"""Compares incidences, whatever their form."""

import torch
from torch import Tensor

from graphgym_nc import TriangleIncidence
from graphgym_nc.triangles.csr import CSR


def dense(matrix: CSR) -> Tensor:
    return matrix.row_sum(torch.eye(matrix.num_cols))


def opposite(incidence: TriangleIncidence) -> Tensor:
    """Nodes times edges, with or without twins."""
    return incidence.sum_opposite(torch.eye(incidence.num_edges, dtype=torch.double))


def assert_same(a: TriangleIncidence, b: TriangleIncidence) -> None:
    assert a.edge_id.tolist() == b.edge_id.tolist()
    assert a.weight.tolist() == b.weight.tolist()
    assert a.messages.tolist() == b.messages.tolist()
    assert a.num_messages == b.num_messages
    assert torch.equal(dense(a.endpoints), dense(b.endpoints))
    assert torch.equal(dense(a.neighbours), dense(b.neighbours))
    assert torch.equal(opposite(a), opposite(b))
    nodes = torch.eye(a.num_nodes, dtype=torch.double)
    assert torch.equal(a.gather_opposite(nodes), b.gather_opposite(nodes))
    assert torch.equal(a.gather_opposite(nodes), opposite(a).t())
