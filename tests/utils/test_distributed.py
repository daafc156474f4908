import pytest
import torch
from torch.utils.data import BatchSampler, DataLoader, RandomSampler, SequentialSampler

from graphgym_nc.utils.distributed import (
    ShareSampler,
    broadcast,
    first_only,
    gather_rows,
    is_first,
    rank,
    world_size,
)
from tests.processes import run_in_processes

SIZES = {0: 3, 1: 0, 2: 2}


def test_a_single_process():
    x = torch.randn(3, 2)
    assert (world_size(), rank(), is_first()) == (1, 0, True)
    assert gather_rows(x) is x
    assert broadcast('value') == 'value'
    assert first_only(lambda: 7) == 7
    with pytest.raises(ValueError, match='no'):
        first_only(lambda: int('no'))


def loss_of(x):
    """No mean over rows, and so none that could be averaged over processes."""
    return (x.cumsum(0).tanh() * torch.arange(10.0).view(5, 2)).sum().square()


def shares(size, batch_size, shuffle):
    torch.manual_seed(7)
    generator = torch.Generator() if shuffle else None
    items = range(size)
    order = RandomSampler(items, generator=generator) if shuffle else SequentialSampler(items)
    sampler = ShareSampler(BatchSampler(order, batch_size, False), generator)
    loader = DataLoader(items, batch_sampler=sampler, collate_fn=list)
    torch.manual_seed(7 + rank())
    epochs = [list(loader) for _ in range(2)]
    assert all(len(epoch) == len(sampler) for epoch in epochs)
    return epochs


def work():
    torch.manual_seed(0)
    rows = torch.randn(5, 2)
    start = sum(SIZES[i] for i in range(rank()))
    mine = rows[start : start + SIZES[rank()]].clone().requires_grad_()
    gathered = gather_rows(mine)
    loss_of(gathered).backward()
    try:
        first_only(lambda: int('no'))
    except ValueError as error:
        message = str(error)
    return {
        'gathered': gathered.detach(),
        'labels': gather_rows(torch.full((SIZES[rank()],), rank())),
        'grad': mine.grad,
        'broadcast': broadcast(f'from {rank()}'),
        'first': first_only(rank),
        'message': message,
        'shares': [shares(*case) for case in CASES],
    }


# Three processes: the last batch has three items, two, or one.
CASES = [(11, 8, True), (10, 8, True), (10, 3, False), (3, 8, False), (12, 4, True)]


@pytest.fixture(scope='module')
def results(tmp_path_factory):
    return run_in_processes(3, work, tmp_path_factory.mktemp('processes'))


def test_rows_of_all_processes_and_their_gradient(results):
    torch.manual_seed(0)
    rows = torch.randn(5, 2).requires_grad_()
    loss_of(rows).backward()
    for result in results:
        assert torch.equal(result['gathered'], rows)
        assert result['labels'].tolist() == [0, 0, 0, 2, 2]
    # The mean over processes, as of DDP, is the gradient.
    torch.testing.assert_close(torch.cat([r['grad'] for r in results]) / 3, rows.grad)


def test_the_first_process_decides(results):
    for result in results:
        assert result['broadcast'] == 'from 0'
        assert result['first'] == 0
        assert "'no'" in result['message']


@pytest.mark.parametrize('case', range(len(CASES)))
def test_shares_are_the_batches_of_a_single_process(results, case):
    size, batch_size, shuffle = CASES[case]
    torch.manual_seed(7)
    loader = DataLoader(range(size), batch_size=batch_size, shuffle=shuffle, collate_fn=list)
    for epoch in range(2):
        expected = list(loader)
        if len(expected) > 1 and len(expected[-1]) < 3:
            expected[-2:] = [expected[-2] + expected[-1]]
        parts = [result['shares'][case][epoch] for result in results]
        assert [[*a, *b, *c] for a, b, c in zip(*parts, strict=True)] == expected
        lengths = [len(share) for share in parts[0]]
        assert all(length >= len(e) // 3 for length, e in zip(lengths, expected, strict=True))


def test_fewer_items_than_processes(monkeypatch):
    monkeypatch.setattr('graphgym_nc.utils.distributed.world_size', lambda: 3)
    with pytest.raises(ValueError, match='2 items are too few for 3 processes'):
        ShareSampler(BatchSampler(SequentialSampler(range(2)), 8, False))
