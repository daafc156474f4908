"""Keeps other batches away from the folder of a run."""

import fcntl
import os
from pathlib import Path


def try_lock(run_dir: Path) -> int | None:
    """Takes the lock of a folder of results, if it is free.

    Returns:
        A file descriptor. The lock is held as long as any process has it: a job
        that outlives its batch keeps others away from its folder.
    """
    run_dir.mkdir(parents=True, exist_ok=True)
    lock = os.open(_lock_path(run_dir), os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        return None
    return lock


def is_locked(run_dir: Path) -> bool:
    """Whether a process has the lock of a folder of results."""
    if not _lock_path(run_dir).exists():
        return False
    lock = try_lock(run_dir)
    if lock is not None:
        os.close(lock)
    return lock is None


def _lock_path(run_dir: Path) -> Path:
    # Beside the folder, in which the run has a lock of its own.
    return run_dir.with_name(f'.{run_dir.name}.lock')
