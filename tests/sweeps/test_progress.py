import io

from graphgym_nc.sweeps.progress import Progress


def test_plain_lines(capsys):
    with Progress(total=4, done=1, workers=2) as progress:
        progress.show(running=2, failed=0)
        progress.say('hello')
        progress.finish('a/0', 'done in 10 s', 10.0)
        progress.finish('a/1', 'FAILED (exit code 1)')
    assert capsys.readouterr().out.splitlines() == [
        '[1/4, running 2, failed 0, ETA ?] hello',
        '[2/4, running 2, failed 0, ETA 0:00:10] a/0 done in 10 s',
        '[3/4, running 2, failed 0, ETA 0:00:05] a/1 FAILED (exit code 1)',
    ]


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_bar_on_a_terminal(monkeypatch, capsys):
    terminal = Terminal()
    monkeypatch.setattr('sys.stderr', terminal)
    with Progress(total=2, done=0, workers=1) as progress:
        progress.show(running=1, failed=0)
        progress.finish('a/0', 'FAILED', 3.0)
        progress.show(running=1, failed=1)
    assert 'running 1, failed 1, ETA 0:00:03' in terminal.getvalue()
    assert '1/2' in terminal.getvalue()
    assert 'a/0 FAILED' in capsys.readouterr().out
