"""What the statistics of an epoch say of memory; all else is seen in whole runs (test_resume)."""

import resource
import sys
from types import SimpleNamespace

import pytest

from graphgym_nc.training.callbacks import _peak_memory


@pytest.mark.parametrize(('platform', 'peak'), [('linux', 3 << 10), ('darwin', 3 << 20)])
def test_peak_memory_is_in_megabytes(monkeypatch, platform, peak):
    monkeypatch.setattr('torch.cuda.is_available', lambda: False)
    monkeypatch.setattr(resource, 'getrusage', lambda who: SimpleNamespace(ru_maxrss=peak))
    monkeypatch.setattr(sys, 'platform', platform)
    assert _peak_memory() == 3
