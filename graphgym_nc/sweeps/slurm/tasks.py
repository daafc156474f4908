"""What SLURM starts: the tasks of an array, and the job that reports when all of them are over."""

import os
import runpy
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphgym_nc.results.lock import alone_in, held_for_child
from graphgym_nc.sweeps.jobs import Job
from graphgym_nc.sweeps.outcome import aggregate_and_report

_PATIENCE_SECONDS = 300.0


@dataclass(frozen=True)
class Task:
    """Runs one job, within the process that SLURM has started.

    Attributes:
        job: The job.
    """

    job: Job

    def __call__(self) -> None:
        if os.environ.get('SLURM_PROCID', '0') != '0':
            run_here(self.job.command)
            return
        _redirect(self.job.log)
        with ExitStack() as stack:
            try:
                # A node that died may keep its lock for a while.
                stack.enter_context(alone_in(self.job.run_dir, _PATIENCE_SECONDS))
            except BlockingIOError as error:
                sys.exit(str(error))
            os.environ.update(held_for_child(self.job.run_dir))
            run_here(self.job.command)

    def checkpoint(self) -> Any:
        """What submitit is to run after a time-out: the same, as every run goes
        on from its own checkpoint.
        """
        from submitit.helpers import DelayedSubmission

        return DelayedSubmission(self)


@dataclass(frozen=True)
class Report:
    """Aggregates, reports, and lists what failed.

    Attributes:
        folder: The folder of the sweep.
        jobs: The jobs that were to be run.
    """

    folder: Path
    jobs: tuple[Job, ...]

    def __call__(self) -> None:
        _redirect(self.folder / 'report.log', mode='wb')
        sys.exit(aggregate_and_report(self.folder, self.jobs))


def run_here(command: Sequence[str]) -> None:
    """Runs a command of Python's in this process: :obj:`srun` has started it as one
    of several that belong together.

    Args:
        command: Python, then a script or :obj:`-m` and a module, then its arguments.
    """
    _, program, *rest = command
    if program == '-m':
        sys.argv = rest
        runpy.run_module(rest[0], run_name='__main__', alter_sys=True)
    else:
        sys.argv = [program, *rest]
        runpy.run_path(program, run_name='__main__')


def _redirect(log: Path, mode: str = 'ab') -> None:
    """Sends all output to a file."""
    log.parent.mkdir(parents=True, exist_ok=True)
    sys.stdout.flush()
    sys.stderr.flush()
    with open(log, mode) as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
