import io
from contextlib import closing

import pytest

from graphgym_nc.sweeps.progress import Progress


@pytest.fixture
def clock(monkeypatch):
    """Stands still at so many seconds."""
    now = [0.0]
    monkeypatch.setattr('graphgym_nc.sweeps.progress.time.monotonic', lambda: now[0])
    return now


def test_plain_lines(clock, capsys):
    with closing(Progress(total=4, over=1)) as progress:
        progress.show(running=2, failed=0)
        progress.say('hello')
        clock[0] = 10.0
        progress.finish('a/0', 'done in 10 s')
        progress.finish('a/1', 'FAILED (exit code 1)')
    assert capsys.readouterr().out.splitlines() == [
        '[1/4, running 2, failed 0, ETA ?] hello',
        '[2/4, running 2, failed 0, ETA 0:00:20] a/0 done in 10 s',
        '[3/4, running 2, failed 0, ETA 0:00:05] a/1 FAILED (exit code 1)',
    ]


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_bar_on_a_terminal(clock, monkeypatch, capsys):
    terminal = Terminal()
    monkeypatch.setattr('sys.stderr', terminal)
    with closing(Progress(total=2, over=0)) as progress:
        progress.show(running=1, failed=0)
        clock[0] = 3.0
        progress.finish('a/0', 'FAILED')
        progress.show(running=1, failed=1)
    assert 'running 1, failed 1, ETA 0:00:03' in terminal.getvalue()
    assert '1/2' in terminal.getvalue()
    assert 'a/0 FAILED' in capsys.readouterr().out
