"""What needs no cluster."""

import os
import sys

import pytest

from graphgym_nc.results.lock import alone_in, is_locked, try_lock
from graphgym_nc.sweeps.jobs import Job
from graphgym_nc.sweeps.slurm.tasks import Task, run_here


@pytest.fixture
def job(tmp_path, monkeypatch):
    """Says whether its folder is locked, and whether it may work there."""
    monkeypatch.setenv('GRAPHGYM_NC_HELD', '')  # restored at the end
    monkeypatch.setattr('graphgym_nc.sweeps.slurm.tasks._redirect', lambda log: None)
    monkeypatch.setattr(sys, 'argv', [])
    run_dir = tmp_path / 'run' / '0'
    script = tmp_path / 'script.py'
    script.write_text(
        'import sys; from pathlib import Path\n'
        'from graphgym_nc.results.lock import alone_in, is_locked\n'
        'with alone_in(Path(sys.argv[1])):\n'
        '    print(is_locked(Path(sys.argv[1])))\n'
    )
    return Job('run/0', run_dir, (sys.executable, str(script), str(run_dir)))


def test_a_task_holds_the_lock_for_its_run(job, capsys):
    Task(job)()
    assert capsys.readouterr().out == 'True\n'
    assert not is_locked(job.run_dir)


def test_a_task_waits_for_the_lock_of_a_dead_node(job, capsys, monkeypatch):
    lock = try_lock(job.run_dir)
    monkeypatch.setattr('graphgym_nc.results.lock.time.sleep', lambda _: os.close(lock))
    Task(job)()
    waiting, locked = capsys.readouterr().out.splitlines()
    assert waiting.startswith('Waiting for another process')
    assert locked == 'True'


def test_a_task_does_not_wait_for_ever(job, monkeypatch):
    monkeypatch.setattr('graphgym_nc.sweeps.slurm.tasks._PATIENCE_SECONDS', 0.01)
    with alone_in(job.run_dir), pytest.raises(SystemExit, match='another process is working'):
        Task(job)()


def test_a_module_runs_in_this_process(tmp_path, monkeypatch, capsys):
    (tmp_path / 'a_module.py').write_text('import os, sys; print(os.getpid(), sys.argv[1:])')
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, 'argv', [])
    run_here((sys.executable, '-m', 'a_module', '--cfg', 'a b'))
    assert capsys.readouterr().out == f"{os.getpid()} ['--cfg', 'a b']\n"
