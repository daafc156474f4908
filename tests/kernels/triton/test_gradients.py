import pytest
import torch

from tests.kernels.triton.test_rows import Sample, rows

gradients = pytest.importorskip('graphgym_nc.kernels.triton.gradients', reason='needs triton')


@pytest.mark.parametrize('by_batch', [True, False])
@pytest.mark.parametrize('lift', [True, False])
def test_gradients(lift, by_batch, monkeypatch):
    monkeypatch.setattr(rows, '_PROGRAMS', 3)
    sample = Sample(lift, index=torch.int64)
    inputs, running = sample.exact()
    out = sample.reference(inputs, running, by_batch)
    grad = torch.randn_like(out)
    expected = torch.autograd.grad(out, inputs, grad)
    of_rows = grad.float()
    of_vectors = gradients.backward(
        of_rows, sample.x, sample.flat, sample.weight, sample.norm(by_batch), True, by_batch,
        int(sample.weight.sum()),
    )  # fmt: skip
    if lift:
        of_nodes = torch.zeros_like(sample.x).index_add_(0, sample.ends[:, 0], of_rows)
        of_rows = of_nodes.index_add_(0, sample.ends[:, 1], of_rows)
    for ours, theirs in zip((of_rows, *of_vectors), expected, strict=True):
        torch.testing.assert_close(ours.double(), theirs, rtol=1e-4, atol=1e-4)
