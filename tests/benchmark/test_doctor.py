from graphgym_nc import kernels
from graphgym_nc.benchmark import doctor


def test_facts():
    lines = doctor.facts()
    assert any(line.startswith('torch ') and 'thread' in line for line in lines)
    assert any(line.startswith("CPU: 'nc.kernel: auto' takes numba") for line in lines)
    assert any(line.startswith('numba: ') and 'not' not in line for line in lines)
    assert any(line.startswith('triton: ') for line in lines)


def test_facts_without_numba(monkeypatch):
    monkeypatch.setattr(kernels, '_problem', lambda: 'no numba here')
    lines = doctor.facts()
    assert any('numba cannot be used' in line and 'no numba here' in line for line in lines)
    assert any(line.startswith("CPU: 'nc.kernel: auto' takes torch, as numba") for line in lines)


def test_comparison():
    rows = doctor.comparison()
    assert {row['device'] for row in rows} == {device.type for device in doctor.devices()}
