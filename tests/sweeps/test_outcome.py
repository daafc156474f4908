import json
import os

import pytest

from graphgym_nc.results.lock import is_locked, try_lock
from graphgym_nc.sweeps.jobs import Job
from graphgym_nc.sweeps.outcome import failures, reason, show_states, state, tail


def write(run_dir, status, **facts):
    run_dir.mkdir(parents=True, exist_ok=True)
    (run_dir / 'run.json').write_text(json.dumps({'status': status, **facts}))


@pytest.mark.parametrize(
    ('status', 'queued', 'was_queued', 'expected'),
    [
        ('DONE', 'running', True, 'done'),  # SLURM has not yet noticed
        ('FAILED', 'pending', True, 'pending'),  # submitted again
        ('FAILED', None, False, 'failed'),
        ('RUNNING', 'running', True, 'running'),
        ('RUNNING', 'pending', True, 'pending'),  # requeued
        ('RUNNING', None, False, 'failed'),  # killed
        (None, None, False, 'pending'),
        (None, None, True, 'failed'),  # killed before it began
        (None, 'pending', True, 'pending'),
    ],
)
def test_states(tmp_path, status, queued, was_queued, expected):
    run_dir = tmp_path / 'run' / '0'
    if status is not None:
        write(run_dir, status)
    assert state(run_dir, queued, was_queued) == expected
    assert not (tmp_path / 'run' / '.0.lock').exists()  # to look is not to touch


def test_a_lock_tells_that_somebody_is_at_it(tmp_path):
    run_dir = tmp_path / 'run' / '0'
    write(run_dir, 'RUNNING')
    lock = try_lock(run_dir)
    assert is_locked(run_dir)
    assert state(run_dir) == 'running'
    os.close(lock)
    assert not is_locked(run_dir)
    assert state(run_dir) == 'failed'


def test_reasons_and_failures(tmp_path, capsys):
    jobs = [Job(f'run/{i}', tmp_path / 'run' / str(i), ()) for i in range(3)]
    write(jobs[0].run_dir, 'DONE')
    write(jobs[1].run_dir, 'FAILED', reason='no memory')
    write(jobs[2].run_dir, 'RUNNING')
    failed = failures(jobs)
    assert list(failed) == jobs[1:]
    assert failed[jobs[1]] == reason(jobs[1].run_dir) == 'no memory'
    show_states({job.name: state(job.run_dir) for job in jobs}, tmp_path)
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ['done     run/0', 'failed   run/1  (no memory)']
    assert lines[2].endswith('(cancelled, killed or out of time; started again, it goes on)')
    assert lines[3].endswith('1 done, 0 running, 0 pending, 2 failed')


def test_tail(tmp_path):
    (tmp_path / 'log').write_bytes(b'1\n2\n\xff3\n\n')
    assert tail(tmp_path / 'log', lines=2) == '2\n�3'
    assert tail(tmp_path / 'nowhere') == ''
