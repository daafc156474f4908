"""What the statistics of an epoch say of memory; all else is seen in whole runs (test_resume)."""

import resource
import sys
from types import SimpleNamespace

import pytest

from graphgym_nc.training.callbacks import LoggerCallback, _peak_memory
from graphgym_nc.training.checkpoint import random_state, set_random_state


@pytest.mark.parametrize(('platform', 'peak'), [('linux', 3 << 10), ('darwin', 3 << 20)])
def test_peak_memory_is_in_megabytes(cfg, monkeypatch, platform, peak):
    monkeypatch.setattr('torch.cuda.is_available', lambda: False)
    monkeypatch.setattr(resource, 'getrusage', lambda who: SimpleNamespace(ru_maxrss=peak))
    monkeypatch.setattr(sys, 'platform', platform)
    assert _peak_memory() == 3


@pytest.fixture
def gpu(monkeypatch):
    """A GPU that was used before: 5 MB at most, until the peak is reset."""
    peaks = [5 << 20]
    monkeypatch.setattr('torch.cuda.is_available', lambda: True)
    monkeypatch.setattr('torch.cuda.is_initialized', lambda: True)
    monkeypatch.setattr('torch.cuda.max_memory_allocated', lambda: peaks[-1])
    monkeypatch.setattr('torch.cuda.reset_peak_memory_stats', lambda: peaks.append(0))
    return peaks


@pytest.mark.parametrize('accelerator', ['auto', 'gpu'])
def test_peak_memory_of_a_gpu_is_that_of_one_seed(cfg, gpu, accelerator):
    cfg.accelerator = accelerator
    assert _peak_memory() == 5
    LoggerCallback().on_train_start(None, None)
    assert _peak_memory() == 0


def test_a_gpu_beside_a_run_on_the_cpu_is_left_alone(cfg, gpu, monkeypatch):
    monkeypatch.setattr(resource, 'getrusage', lambda who: SimpleNamespace(ru_maxrss=3 << 10))
    monkeypatch.setattr(sys, 'platform', 'linux')

    def asked(*args):
        raise AssertionError('the GPU was asked')

    for name in ('get_rng_state', 'set_rng_state', 'reset_peak_memory_stats'):
        monkeypatch.setattr(f'torch.cuda.{name}', asked)
    LoggerCallback().on_train_start(None, None)
    assert _peak_memory() == 3
    state = random_state()
    set_random_state({**state, 'cuda': [state['torch']]})  # of a run that began on a GPU
