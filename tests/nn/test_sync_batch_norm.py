import copy

import pytest
import torch
from torch.nn import BatchNorm1d, Linear, ReLU, Sequential

from graphgym_nc.nn import NCGNNConv, SyncBatchNorm
from graphgym_nc.nn._weighted_batch_norm import CountRows, RowCount
from graphgym_nc.nn.sync_batch_norm import synchronized_batch_norm
from graphgym_nc.utils.distributed import rank
from tests.processes import run_in_processes

WEIGHT = torch.tensor([3, 1, 2, 5, 1, 4, 2])
#: The rows of each of two processes; in the last case, one has none.
CUTS = [(0, 3, 7), (0, 6, 7), (0, 7, 7)]
KWARGS = [{}, {'momentum': None}, {'affine': False}, {'track_running_stats': False}]


def rows():
    generator = torch.Generator().manual_seed(1)
    return torch.randn(7, 4, dtype=torch.double, generator=generator) * 2 + 1


def loss_of(out):
    return out.tanh().square().sum()


class Nested(torch.nn.Module):
    """A module that nobody can look into."""

    def __init__(self, norm):
        super().__init__()
        self.norm = norm

    def forward(self, x):
        return self.norm(x)


def weighted(kwargs, cut, nested):
    """Output, gradients and running statistics of this process, after two steps."""
    norm = SyncBatchNorm(4, dtype=torch.double, **kwargs)
    part = slice(cut[rank()], cut[rank() + 1])
    x, weight = rows()[part].requires_grad_(), WEIGHT[part]
    count = RowCount(weight, int(weight.sum()))
    for _ in range(2):
        if nested:
            with CountRows(count):
                out = Nested(norm)(x)
        else:
            out = synchronized_batch_norm(norm, x, count)
        loss_of(out.repeat_interleave(weight, dim=0)).backward()
    params = [p.grad for p in norm.parameters()]
    return out.detach(), x.grad, params, list(norm.buffers())


def plain(shape):
    norm = SyncBatchNorm(4, dtype=torch.double)
    x = torch.arange(8.0 * shape, dtype=torch.double).view(2, 4, shape).sin()[rank() :][:1]
    return norm(x).detach(), list(norm.buffers())


def no_rows():
    norm = SyncBatchNorm(4)
    norm(torch.empty(0, 4, requires_grad=True)).sum().backward()
    return norm.num_batches_tracked.item(), norm.running_mean, norm.running_var, norm.weight.grad


def half():
    norm = SyncBatchNorm(4)
    return norm(rows()[3 * rank() :][:3].bfloat16()).detach()


def graph(number):
    """A clique of five nodes, or a path, which has no triangle."""
    if number == 0:
        return torch.combinations(torch.arange(5)).t()
    return torch.tensor([[0, 1, 2], [1, 2, 3]])


def conv(norm, own_norm):
    torch.manual_seed(3)
    nn = Sequential(Linear(4, 4), own_norm(4), ReLU(), Linear(4, 4))
    nn_communicate = Sequential(Linear(4, 4), norm(4), ReLU(), Linear(4, 4), norm(4), ReLU())
    return NCGNNConv(nn, nn_communicate).double()


def gradients(model, x, edge_index):
    out = model(x, torch.cat([edge_index, edge_index.flip(0)], dim=1))
    loss_of(out).backward()
    return out.detach(), {name: p.grad for name, p in model.named_parameters()}


def layer(norm):
    x = rows()[:5] if rank() == 0 else rows()[3:]
    return gradients(conv(norm, SyncBatchNorm), x, graph(rank()))  # torch's own needs a GPU


def refused():
    nn = Nested(torch.nn.SyncBatchNorm(4))
    with pytest.raises(NotImplementedError, match='cannot count messages'):
        gradients(NCGNNConv(Sequential(), nn), rows().float(), graph(0))


def work():
    refused()
    return {
        'weighted': [
            [weighted(kwargs, cut, nested) for cut in CUTS for nested in (False, True)]
            for kwargs in KWARGS
        ],
        'plain': [plain(shape) for shape in (1, 3)],
        'no rows': no_rows(),
        'half': half(),
        'layer': [layer(SyncBatchNorm), layer(torch.nn.SyncBatchNorm)],
    }


@pytest.fixture(scope='module')
def results(tmp_path_factory):
    return run_in_processes(2, work, tmp_path_factory.mktemp('processes'))


@pytest.mark.parametrize('case', range(len(KWARGS)), ids=str)
def test_equals_batch_norm_on_the_rows_of_all(results, case):
    norm = BatchNorm1d(4, dtype=torch.double, **KWARGS[case])
    x = rows().requires_grad_()
    for _ in range(2):
        out = norm(x.repeat_interleave(WEIGHT, dim=0))
        loss_of(out).backward()
    for ours in zip(*(result['weighted'][case] for result in results), strict=True):
        outs, grads, params, buffers = zip(*ours, strict=True)
        torch.testing.assert_close(torch.cat(outs).repeat_interleave(WEIGHT, dim=0), out)
        torch.testing.assert_close(torch.cat(grads), x.grad)
        for mine, others, parameter in zip(*params, norm.parameters(), strict=True):
            torch.testing.assert_close(mine + others, parameter.grad)
        for buffer in buffers:  # the same everywhere
            torch.testing.assert_close(buffer, list(norm.buffers()))


def test_any_number_of_positions(results):
    for i, shape in enumerate((1, 3)):
        norm = BatchNorm1d(4, dtype=torch.double)
        x = torch.arange(8.0 * shape, dtype=torch.double).view(2, 4, shape).sin()
        outs, buffers = zip(*(result['plain'][i] for result in results), strict=True)
        torch.testing.assert_close(torch.cat(outs), norm(x))
        torch.testing.assert_close(buffers[1], list(norm.buffers()))
    with pytest.raises(ValueError, match=r'expected shape \[batch, channels, \*\]'):
        SyncBatchNorm(4)(torch.randn(4))


def test_no_rows_anywhere_leave_no_trace(results):
    for result in results:
        tracked, mean, var, grad = result['no rows']
        assert tracked == 0
        assert mean.tolist() == grad.tolist() == [0.0] * 4
        assert var.tolist() == [1.0] * 4


def test_half_precision(results):
    expected = BatchNorm1d(4)(rows()[:6].float())
    out = torch.cat([result['half'] for result in results])
    assert out.dtype == torch.bfloat16
    torch.testing.assert_close(out.float(), expected, atol=0.05, rtol=0.05)


@pytest.mark.parametrize('case', [0, 1], ids=['ours', "torch's"])
def test_layer_on_two_graphs_in_two_processes(results, case):
    x = torch.cat([rows()[:5], rows()[3:]])
    edge_index = torch.cat([graph(0), graph(1) + 5], dim=1)
    out, expected = gradients(conv(BatchNorm1d, BatchNorm1d), x, edge_index)
    parts = [result['layer'][case] for result in results]
    torch.testing.assert_close(torch.cat([part[0] for part in parts]), out)
    for name, grad in expected.items():
        torch.testing.assert_close(parts[0][1][name] + parts[1][1][name], grad)


def test_in_a_single_process_it_is_batch_norm():
    model = Sequential(Linear(4, 4), BatchNorm1d(4, momentum=0.3), Nested(BatchNorm1d(4))).double()
    expected = copy.deepcopy(model)
    parameters = list(model.parameters())
    converted = SyncBatchNorm.convert(model.eval()).train()
    assert [type(m) for m in (converted[1], converted[2].norm)] == [SyncBatchNorm] * 2
    assert all(a is b for a, b in zip(converted.parameters(), parameters, strict=True))
    for _ in range(2):
        torch.testing.assert_close(converted(rows()), expected(rows()))
    torch.testing.assert_close(converted.state_dict(), expected.state_dict())
    reverted = SyncBatchNorm.revert(converted)
    assert [type(m) for m in (reverted[1], reverted[2].norm)] == [BatchNorm1d] * 2
    torch.testing.assert_close(reverted.eval()(rows()), expected.eval()(rows()))
