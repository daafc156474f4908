import pytest
import torch
from torch.nn.functional import batch_norm

rows = pytest.importorskip('graphgym_nc.kernels.triton.rows', reason='needs triton')

MESSAGES = 7


class Sample:
    """Rows of edges, and what to do with them, with a reference in float64 that has a row for
    every message.
    """

    def __init__(self, lift, width=5, edges=50, index=torch.int32, centre=0.0):
        torch.manual_seed(0)
        self.x = centre + torch.randn(12 if lift else edges, width)
        self.ends = torch.randint(12, (edges, 2)) if lift else None
        self.weight = torch.randint(1, MESSAGES, (edges,)).to(index)
        self.vectors = tuple(torch.randn(width) for _ in range(3))
        self.running = torch.randn(width), torch.rand(width)
        self.flat = None if self.ends is None else self.ends.flatten().to(index)

    def norm(self, by_batch=True, eps=1e-5, momentum=0.1, running=None):
        running = self.running if running is None else running
        return rows.norm_of(
            self.x, self.flat, self.weight, self.vectors, running, by_batch, eps,
            int(self.weight.sum()), momentum,
        )  # fmt: skip

    def of_edges(self, x):
        return x if self.ends is None else x[self.ends].sum(1)

    def reference(self, inputs, running, by_batch=True, relu=True):
        x, offset, gamma, beta = inputs
        y = self.of_edges(x) + offset
        messages = y.repeat_interleave(self.weight.long(), 0)
        out = batch_norm(messages, *running, gamma, beta, by_batch, 0.1, 1e-5)
        first = self.weight.long().cumsum(0) - self.weight.long()
        out = out[first]  # of each edge, one message
        return out.relu() if relu else out

    def exact(self):
        inputs = [t.double().requires_grad_() for t in (self.x, *self.vectors)]
        return inputs, [t.double() for t in self.running]


@pytest.mark.parametrize('by_batch', [True, False])
@pytest.mark.parametrize('lift', [True, False])
def test_normalises_like_batch_norm_over_all_messages(lift, by_batch, monkeypatch):
    monkeypatch.setattr(rows, '_PROGRAMS', 3)  # which go over several tiles
    sample = Sample(lift)
    inputs, running = sample.exact()
    expected = sample.reference(inputs, running, by_batch)
    found = rows.normalise(sample.x, sample.flat, sample.norm(by_batch), relu=True)
    torch.testing.assert_close(found.double(), expected, rtol=1e-4, atol=1e-5)
    for ours, theirs in zip(sample.running, running, strict=True):
        torch.testing.assert_close(ours.double(), theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize('edges', [1, 15, 40, 200])
def test_nothing_cancels_far_from_zero(edges):
    sample = Sample(False, width=3, edges=edges, centre=1e4)
    running = torch.zeros(3), torch.zeros(3)
    sample.norm(running=running, momentum=1.0)
    messages = sample.x.double().repeat_interleave(sample.weight, 0)
    expected = messages.var(0) if len(messages) > 1 else torch.zeros(3)
    torch.testing.assert_close(running[1].double(), expected, rtol=1e-3, atol=1e-6)


def test_momentum_that_the_device_knows():
    moved = []
    for momentum in (0.25, torch.tensor(0.25)):
        sample = Sample(True)
        sample.norm(momentum=momentum)
        moved.append(sample.running)
    for a, b in zip(*moved, strict=True):
        assert torch.equal(a, b)


def test_without_a_norm():
    sample = Sample(True)
    norm = rows.norm_of(
        sample.x, sample.flat, sample.weight, (sample.vectors[0], None, None), (None, None), False,
        -1.0, 1, 0.0,
    )  # fmt: skip
    found = rows.normalise(sample.x, sample.flat, norm, relu=False)
    torch.testing.assert_close(found, sample.of_edges(sample.x) + sample.vectors[0])
