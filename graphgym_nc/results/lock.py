"""The lock of a run's folder. Whoever works there holds it: a run by hand, a job of a sweep, a
SLURM task.

It is the kernel's own lock, so it ends with the last process that has it. `filelock` would not do:
a sweep hands its lock on to the job that it starts, and the job keeps it if the sweep dies.
"""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_HELD = 'GRAPHGYM_NC_HELD'
_POLL_SECONDS = 0.1
#: Others may have the lock for a moment to see whether it is free.
_LOOK_SECONDS = 1.0


def try_lock(run_dir: Path) -> int | None:
    """Takes the lock of a folder, if it is free.

    Returns:
        A file descriptor. The lock is held as long as any process has it open.
    """
    run_dir.parent.mkdir(parents=True, exist_ok=True)
    lock = os.open(_lock_path(run_dir), os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        return None
    return lock


def is_locked(run_dir: Path) -> bool:
    """Whether a process has the lock of a folder."""
    if not _lock_path(run_dir).exists():
        return False
    lock = try_lock(run_dir)
    if lock is not None:
        os.close(lock)
    return lock is None


def held_for_child(run_dir: Path) -> dict[str, str]:
    """The environment that tells a child process that the lock is held for it."""
    return {_HELD: os.path.abspath(run_dir)}


@contextmanager
def alone_in(run_dir: Path, patience: float = 0.0) -> Iterator[None]:
    """Keeps all others out of a folder.

    Args:
        run_dir: The folder.
        patience: For how many seconds to wait for others to leave.

    Raises:
        BlockingIOError: If another process is in it.
    """
    if os.environ.get(_HELD) == os.path.abspath(run_dir):
        yield
        return
    deadline = time.monotonic() + max(patience, _LOOK_SECONDS)
    lock = try_lock(run_dir)
    if lock is None and patience:
        print(f"Waiting for another process in '{run_dir}' to end ...", flush=True)
    while lock is None and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)
        lock = try_lock(run_dir)
    if lock is None:
        raise BlockingIOError(
            f"another process is working in '{run_dir}'; wait until it ends, or choose another "
            f"'seed' or 'out_dir'"
        )
    try:
        yield
    finally:
        os.close(lock)


def _lock_path(run_dir: Path) -> Path:
    # Beside the folder: --overwrite deletes the folder, and must not delete the lock.
    return run_dir.with_name(f'.{run_dir.name}.lock')
