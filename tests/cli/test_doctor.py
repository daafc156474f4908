import pytest

from graphgym_nc.cli import doctor


@pytest.mark.parametrize('wrong', [False, True])
def test_exit_code_says_whether_paths_agree(wrong, monkeypatch, capsys):
    row = {'device': 'cpu', 'layer': 'lean', 'path': 'torch', 'ms': 1.0}
    rows = [{**row, 'greatest difference': 1e-6}]
    rows += [{**row, 'path': 'numba', 'greatest difference': float('nan')}] if wrong else []
    monkeypatch.setattr(doctor, 'comparison', lambda: rows)
    assert doctor.main([]) == wrong
    out = capsys.readouterr().out
    assert "'nc.kernel: auto' takes" in out
    assert ("Wrong: 'numba' on cpu differs" in out) == wrong
    assert f'1 of {1 + wrong} as in double precision' in out
