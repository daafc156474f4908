import copy

import pytest
import torch
from torch.nn import BatchNorm1d, Linear, Sequential

from graphgym_nc import kernels
from graphgym_nc.nn import NCGNNConv
from tests.nn.test_nc_conv import paper_mlp
from tests.reference import dense_graph

D = 4


def test_statistics_of_equal_messages():
    # Constant features: no variance at all, which must not become negative.
    conv = NCGNNConv(Sequential(), paper_mlp())
    x, edge_index = torch.full((12, D), 1e3), dense_graph(12, 0.8)
    out = conv(x, edge_index)
    assert out.isfinite().all()
    assert conv.nn_communicate[1].running_var.tolist() == pytest.approx([0.9] * D)


def assert_same_variance(x, edge_index, rtol):
    """That of the first norm, as near to float64's as its inputs allow."""
    torch.manual_seed(0)
    conv = NCGNNConv(Sequential(), Sequential(Linear(D, D), BatchNorm1d(D, momentum=1.0)))
    exact = copy.deepcopy(conv).double()
    conv(x, edge_index)
    exact(x.double(), edge_index)
    found, expected = (c.nn_communicate[1].running_var.double() for c in (conv, exact))
    torch.testing.assert_close(found, expected, rtol=rtol, atol=0)


@pytest.mark.parametrize('clique', range(12, 18))  # of 66 to 136 edges
def test_statistics_of_a_sample_far_from_zero(clique):
    torch.manual_seed(1)
    edge_index = torch.combinations(torch.arange(clique)).t()
    assert_same_variance(1e4 + torch.randn(clique, D), edge_index, rtol=2e-3)


def test_statistics_far_from_zero():
    torch.manual_seed(1)
    assert_same_variance(1e3 + torch.randn(60, D), dense_graph(60, 0.5), rtol=1e-3)


def test_statistics_with_an_outlier_that_sends_no_message():
    torch.manual_seed(1)
    x = torch.cat([torch.full((1, D), 1e4), torch.randn(60, D)])
    assert_same_variance(x, 1 + dense_graph(60, 0.5), rtol=1e-4)


def test_running_statistics_tell_that_they_have_changed():
    conv = NCGNNConv(Sequential(), paper_mlp())
    norm = conv.nn_communicate[1]
    before = norm.running_mean._version, norm.running_var._version
    conv(torch.randn(12, D), dense_graph(12))
    assert norm.running_mean._version > before[0]
    assert norm.running_var._version > before[1]


def test_training_mode_of_a_network_made_for_inference():
    with torch.inference_mode():
        conv = NCGNNConv(Sequential(), paper_mlp())
        conv(torch.randn(12, D), dense_graph(12))
    assert conv.nn_communicate[1].num_batches_tracked == 1


def test_statistics_that_are_no_longer_tracked():
    conv, x, edge_index = NCGNNConv(Sequential(), paper_mlp()), torch.randn(12, D), dense_graph(12)
    norm = conv.nn_communicate[1]
    norm.track_running_stats = False
    for kernel in ('numba', 'torch'):
        with kernels.use(kernel):
            conv(x, edge_index)
        assert norm.num_batches_tracked == 0
        assert norm.running_mean.eq(0).all()


def test_padding_without_deviation():
    conv = NCGNNConv(
        Sequential(), Sequential(Linear(D, 10), BatchNorm1d(10, eps=0.0), Linear(10, D))
    )
    assert conv(torch.randn(12, D), dense_graph(12, 0.8)).isfinite().all()
