import pytest
import torch

from graphgym_nc.benchmark import measure
from graphgym_nc.benchmark.measure import peak_bytes, seconds


def test_functions_are_called_in_turn():
    calls = []
    times = seconds({'a': lambda: calls.append('a'), 'b': lambda: calls.append('b')}, repeat=20)
    rounds = {''.join(calls[i : i + 2]) for i in range(0, 42, 2)}
    assert len(calls) == 42
    assert rounds == {'ab', 'ba'}
    assert list(times) == ['a', 'b']
    assert min(times.values()) > 0


def test_quick_functions_are_called_more_often():
    calls = []
    seconds({'a': lambda: calls.append('a')}, repeat=1, least=0.01)
    assert len(calls) > 3


def test_peak_bytes_by_hand():
    size = 1 << 20

    def function():
        first = torch.ones(size)  # 4 MB
        second = first + first  # 8 MB
        del first
        third = second + second  # again 8 MB
        del second, third
        torch.ones(size // 2)

    assert peak_bytes(function) == pytest.approx(8 * size, rel=0.01)
    assert peak_bytes(lambda: None) == 0


@pytest.mark.parametrize(
    ('peak', 'work'),
    [
        (lambda: measure.copy_bandwidth(1 << 10), 2 * 1024),  # bytes that are read and written
        (lambda: measure.matmul_flops(100, 16), 2 * 100 * 16 * 16),  # products and sums
    ],
)
def test_peaks_of_the_machine(peak, work, monkeypatch):
    monkeypatch.setattr(measure, '_best_time', lambda function: function() is None or 0.5)
    assert peak() == work / 0.5
