import pickle

import torch
from hypothesis import given
from torch._subclasses.fake_tensor import FakeTensorMode

from graphgym_nc import TriangleIncidence
from graphgym_nc.triangles.shares import Shares, once
from tests.incidences import dense
from tests.reference import dense_graph, graphs


@given(graphs(min_nodes=3))
def test_sums(graph):
    incidence = TriangleIncidence.build(*graph)
    if incidence.num_edges == 0:
        return
    shares, ends = Shares.of(incidence, torch.double), dense(incidence.endpoints).double()
    weight = incidence.weight.double()
    torch.testing.assert_close(shares.of_edge, weight / weight.sum())
    torch.testing.assert_close(shares.of_node, -0.5 * ends.t() @ shares.of_edge)
    # Of a triangle's three edges, two are at each corner.
    torch.testing.assert_close(shares.of_node, -incidence.messages / weight.sum())
    matrix = ends.t() @ torch.diag(shares.of_edge) @ ends
    eye = torch.eye(incidence.num_nodes, dtype=torch.double)
    torch.testing.assert_close(shares.row_sum(eye), matrix)


def test_found_once_and_of_every_type():
    incidence = TriangleIncidence.build(dense_graph(), 9)
    shares = Shares.of(incidence, torch.float32)
    assert Shares.of(incidence, torch.float32) is shares
    assert Shares.of(incidence, torch.float64).of_edge.dtype == torch.float64
    assert Shares.of(incidence, torch.float32) is shares
    assert Shares.of(incidence.to('meta'), torch.float32).of_edge.is_meta
    kept = Shares.of(pickle.loads(pickle.dumps(incidence)), torch.float32)
    assert torch.equal(kept.ends, shares.ends)
    with torch.inference_mode():
        found = once(incidence, 'of inference', lambda: incidence.messages * 2)
    assert not found.is_inference()


def test_what_stands_in_for_tensors_is_not_kept():
    incidence = TriangleIncidence.build(dense_graph(), 9)
    with FakeTensorMode(allow_non_fake_inputs=True):
        assert type(Shares.of(incidence, torch.float32).of_edge) is not torch.Tensor
    assert type(Shares.of(incidence, torch.float32).of_edge) is torch.Tensor
