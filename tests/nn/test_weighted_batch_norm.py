import copy
import inspect

import pytest
import torch
import torch.nn.functional as F
from torch.nn import BatchNorm1d

from graphgym_nc.nn._weighted_batch_norm import (
    CountRows,
    RowCount,
    apply_batch_norm,
    weighted_batch_norm,
)

NEEDS_BIAS = pytest.mark.skipif(
    'bias' not in inspect.signature(BatchNorm1d).parameters, reason='torch has no such argument'
)
WEIGHT = torch.tensor([3, 1, 2, 5, 1])


def run(norm, x, count=None):
    """Output, gradients of input and parameters, and running statistics."""
    x = x.clone().requires_grad_()
    if count is None:
        out = norm(x.repeat_interleave(WEIGHT, dim=0))
    else:
        out = apply_batch_norm(norm, x, count).repeat_interleave(WEIGHT, dim=0)
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
        pytest.param({'bias': False}, marks=NEEDS_BIAS),
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


@pytest.mark.parametrize('frozen', [(), ('x',), ('weight', 'bias'), ('bias',)])
def test_gradients_of_gradients(frozen):
    count = RowCount(WEIGHT, int(WEIGHT.sum()))
    shapes = {'x': (5, 2), 'weight': (2,), 'bias': (2,)}
    inputs = tuple(
        torch.randn(*shape, dtype=torch.double).requires_grad_(name not in frozen)
        for name, shape in shapes.items()
    )

    def function(x, weight, bias):
        return weighted_batch_norm(x, None, None, weight, bias, training=True, count=count)

    assert torch.autograd.gradcheck(function, inputs)
    assert torch.autograd.gradgradcheck(function, inputs)


def test_no_rows_leave_no_trace():
    norm = BatchNorm1d(3)
    before = copy.deepcopy(norm.state_dict())
    out = apply_batch_norm(norm, torch.empty(0, 3), RowCount(torch.empty(0), 0))
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
    out = apply_batch_norm(norm, x.to(dtype), count)
    assert out.dtype == dtype
    torch.testing.assert_close(
        out.float().repeat_interleave(WEIGHT, dim=0), expected, atol=0.05, rtol=0.05
    )


def test_count_rows_reaches_any_batch_norm():
    class Doubled(BatchNorm1d):
        def forward(self, x):
            return 2 * super().forward(x) + F.batch_norm(x, None, None, training=True)

    x, norm = torch.randn(5, 3, dtype=torch.double), Doubled(3, dtype=torch.double)
    expected = copy.deepcopy(norm)
    with CountRows(RowCount(WEIGHT, int(WEIGHT.sum()))):
        out = norm(x)
    torch.testing.assert_close(
        out.repeat_interleave(WEIGHT, dim=0), expected(x.repeat_interleave(WEIGHT, dim=0))
    )
    for ours, theirs in zip(norm.buffers(), expected.buffers(), strict=True):
        torch.testing.assert_close(ours, theirs)
    rows = torch.randn(4, 3, dtype=torch.double)
    torch.testing.assert_close(norm(rows), expected(rows))  # as ever, outside
