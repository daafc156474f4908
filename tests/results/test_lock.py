import os
import subprocess
import sys

import pytest

from graphgym_nc.results.lock import alone_in, held_for_child, is_locked, try_lock


def test_one_at_a_time(tmp_path):
    run_dir = tmp_path / 'run' / '0'
    assert not is_locked(run_dir)
    assert not run_dir.parent.exists()  # to look is not to touch
    with alone_in(run_dir):
        assert is_locked(run_dir)
        assert try_lock(run_dir) is None
        with pytest.raises(BlockingIOError, match='another process'), alone_in(run_dir):
            pass
        with alone_in(tmp_path / 'run' / '1'):
            pass
    assert not is_locked(run_dir)


def test_the_lock_is_beside_the_folder_that_may_be_deleted(tmp_path):
    run_dir = tmp_path / 'run' / '0'
    with alone_in(run_dir):
        assert not run_dir.exists()
        assert is_locked(run_dir)


def test_a_child_keeps_the_lock_that_it_was_given(tmp_path):
    run_dir = tmp_path / 'run' / '0'
    lock = try_lock(run_dir)
    child = subprocess.Popen([sys.executable, '-c', 'input()'], stdin=-1, pass_fds=[lock])
    os.close(lock)
    assert is_locked(run_dir)
    child.communicate(b'\n')
    assert not is_locked(run_dir)


def test_a_lock_that_is_held_for_a_process_does_not_keep_it_out(tmp_path, monkeypatch):
    mine, other = tmp_path / 'run' / '0', tmp_path / 'run' / '1'
    locks = [try_lock(mine), try_lock(other)]
    for name, value in held_for_child(mine).items():
        monkeypatch.setenv(name, value)
    with alone_in(mine):
        pass
    with pytest.raises(BlockingIOError), alone_in(other):
        pass
    for lock in locks:
        os.close(lock)


def test_who_only_looks_keeps_nobody_out(tmp_path, capsys, monkeypatch):
    run_dir = tmp_path / '0'
    lock = try_lock(run_dir)  # as is_locked has it for a moment
    monkeypatch.setattr('graphgym_nc.results.lock.time.sleep', lambda _: os.close(lock))
    with alone_in(run_dir):
        assert is_locked(run_dir)
    assert not capsys.readouterr().out


def test_waits_for_others_to_leave(tmp_path, capsys, monkeypatch):
    run_dir = tmp_path / 'run' / '0'
    lock = try_lock(run_dir)
    monkeypatch.setattr('graphgym_nc.results.lock.time.sleep', lambda _: os.close(lock))
    with alone_in(run_dir, patience=60):
        assert is_locked(run_dir)
    assert f"Waiting for another process in '{run_dir}'" in capsys.readouterr().out


def test_does_not_wait_for_ever(tmp_path):
    run_dir = tmp_path / '0'
    with alone_in(run_dir), pytest.raises(BlockingIOError), alone_in(run_dir, patience=0.01):
        pass
