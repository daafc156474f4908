import copy

import pytest
import torch
from torch.nn import BatchNorm1d, SyncBatchNorm

from graphgym_nc.nn.weighted_batch_norm import RowCount, batch_norms_count, weighted_batch_norm

WEIGHT = torch.tensor([3, 1, 2, 5, 1])


def run(norm, x, count=None):
    """Output, gradients of input and parameters, and running statistics."""
    x = x.clone().requires_grad_()
    if count is None:
        out = norm(x.repeat_interleave(WEIGHT, dim=0))
    else:
        out = weighted_batch_norm(norm, x, count).repeat_interleave(WEIGHT, dim=0)
    out.tanh().square().sum().backward()
    params = [p.grad for p in norm.parameters()]
    return [out.detach(), x.grad, *params, *norm.buffers()]


@pytest.mark.parametrize('training', [True, False])
@pytest.mark.parametrize(
    'kwargs',
    [
        {},
        {'affine': False},
        {'track_running_stats': False},
        {'momentum': None},
        {'momentum': 0.3, 'eps': 1e-2},
    ],
)
def test_equals_batch_norm_on_repeated_rows(kwargs, training):
    norm = BatchNorm1d(4, dtype=torch.double, **kwargs)
    for parameter in norm.parameters():
        torch.nn.init.normal_(parameter)
    norm(torch.randn(6, 4, dtype=torch.double) * 3)  # statistics worth the name
    norm.train(training)
    expected, x = copy.deepcopy(norm), torch.randn(5, 4, dtype=torch.double) * 2 + 1
    count = RowCount(WEIGHT, int(WEIGHT.sum()))
    for _ in range(2):
        results = zip(run(norm, x, count), run(expected, x), strict=True)
        for ours, theirs in results:
            torch.testing.assert_close(ours, theirs)


def test_gradients_of_gradients():
    norm = BatchNorm1d(2, dtype=torch.double)
    count = RowCount(WEIGHT, int(WEIGHT.sum()))
    x = torch.randn(5, 2, dtype=torch.double, requires_grad=True)
    weight = torch.randn(2, dtype=torch.double, requires_grad=True)
    bias = torch.randn(2, dtype=torch.double, requires_grad=True)

    def function(x, weight, bias):
        norm.__dict__['_parameters'].update(weight=weight, bias=bias)
        return weighted_batch_norm(norm, x, count)

    assert torch.autograd.gradcheck(function, (x, weight, bias))
    assert torch.autograd.gradgradcheck(function, (x, weight, bias))


def test_no_rows_leave_no_trace():
    norm = BatchNorm1d(3)
    before = copy.deepcopy(norm.state_dict())
    out = weighted_batch_norm(norm, torch.empty(0, 3), RowCount(torch.empty(0), 0))
    out.sum().backward()
    assert out.shape == (0, 3)
    assert norm.weight.grad.tolist() == [0, 0, 0]
    for key, value in norm.state_dict().items():
        assert torch.equal(value, before[key])


@pytest.mark.parametrize('dtype', [torch.bfloat16, torch.float16])
def test_half_precision_keeps_its_dtype(dtype):
    norm, count = BatchNorm1d(3), RowCount(WEIGHT, int(WEIGHT.sum()))
    x = torch.randn(5, 3)
    expected = norm(x.repeat_interleave(WEIGHT, dim=0))
    out = weighted_batch_norm(norm, x.to(dtype), count)
    assert out.dtype == dtype
    torch.testing.assert_close(
        out.float().repeat_interleave(WEIGHT, dim=0), expected, atol=0.05, rtol=0.05
    )


def test_batch_norms_count_is_undone_after_an_error():
    norm = BatchNorm1d(3)
    with batch_norms_count(norm, RowCount(WEIGHT, 12)):
        assert 'forward' in vars(norm)
    with pytest.raises(RuntimeError), batch_norms_count(norm, RowCount(WEIGHT, 12)):
        norm(torch.ones(5))
    assert 'forward' not in vars(norm)


def test_synchronised_over_processes_is_refused(monkeypatch):
    monkeypatch.setattr('graphgym_nc.nn.weighted_batch_norm._world_size', lambda: 2)
    with pytest.raises(NotImplementedError, match='sync_batchnorm: False'):
        weighted_batch_norm(SyncBatchNorm(3), torch.ones(5, 3), RowCount(WEIGHT, 12))
