"""One job of a batch, which no other process does at the same time.

python -m graphgym_nc.job MAIN.py RUN_DIR [ARGUMENT ...]

The process that writes a folder of results is also the one that holds its lock:
a job outlives a batch that is killed, and so does its lock.
"""

import runpy
import sys
from collections.abc import Sequence
from pathlib import Path

from filelock import FileLock, Timeout

from graphgym_nc.agg import run_status

#: The exit code of a job that is done elsewhere (EX_TEMPFAIL of sysexits.h).
BUSY = 75


def job_lock(run_dir: Path) -> FileLock:
    """The lock of a folder of results."""
    run_dir.mkdir(parents=True, exist_ok=True)
    return FileLock(run_dir / '.lock', timeout=0)


def is_busy(run_dir: Path) -> bool:
    """Whether a process works on a folder of results."""
    try:
        with job_lock(run_dir):
            return False
    except Timeout:
        return True


def main(argv: Sequence[str]) -> int:
    """Runs a script, unless its results are there or on their way."""
    script, run_dir, *args = argv
    try:
        with job_lock(Path(run_dir)):
            if run_status(Path(run_dir)) != 'DONE':
                sys.argv = [script, *args]
                runpy.run_path(script, run_name='__main__')
    except Timeout:
        return BUSY
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
