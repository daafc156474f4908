"""Runs jobs on a SLURM cluster: an array of tasks, and a job that reports when
all of them are over.
"""

import json
import os
import re
import runpy
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock

from graphgym_nc.results.lock import alone_in, held_for_child
from graphgym_nc.sweeps.errors import GridError
from graphgym_nc.sweeps.jobs import Job
from graphgym_nc.sweeps.outcome import aggregate_and_report
from graphgym_nc.sweeps.slurm.settings import SlurmSettings, check_path
from graphgym_nc.utils.files import write_atomically

_WAITING = ('PENDING', 'REQUEUED', 'REQUEUE_HOLD', 'REQUEUE_FED', 'SPECIAL_EXIT', 'RESV_DEL_HOLD')
_PATIENCE_SECONDS = 300.0


@dataclass(frozen=True)
class Submitted:
    """What of a sweep has been given to SLURM.

    Attributes:
        tasks: The SLURM job of each run, by its name.
        report: The last job that reports.
    """

    tasks: dict[str, str]
    report: str | None

    @staticmethod
    def load(folder: Path) -> 'Submitted':
        """Reads what has been submitted of a sweep; nothing if none has."""
        path = folder / 'slurm' / 'jobs.json'
        return Submitted(**json.loads(path.read_text())) if path.exists() else Submitted({}, None)

    def save(self, folder: Path) -> None:
        write_atomically(folder / 'slurm' / 'jobs.json', json.dumps(vars(self), indent=1) + '\n')


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


def submit(
    jobs: Sequence[Job],
    todo: Sequence[Job],
    folder: Path,
    settings: SlurmSettings,
    shape: tuple[int, int],
    environment: Mapping[str, str],
) -> Submitted:
    """Submits jobs, and one more to report on all of them.

    Args:
        jobs: All jobs of the sweep.
        todo: Those to be submitted.
        folder: The folder of the sweep.
        settings: What to ask for.
        shape: The number of devices of each job on a node, and of nodes.
        environment: What to add to the environment of every task.

    Raises:
        GridError: If submitit is not installed, or SLURM refuses.
    """
    submitit = import_submitit()
    parameters, logs = settings.tasks(*shape), slurm_folder(folder)
    name = job_name(folder)
    logs.mkdir(parents=True, exist_ok=True)
    with FileLock(logs / '.lock'), _exported(environment):
        before = Submitted.load(folder)
        try:
            executor = submitit.SlurmExecutor(logs, max_num_timeout=settings.timeouts)
            executor.update_parameters(job_name=name, **parameters)
            ids: dict[str, str] = {}
            for i in range(0, len(todo), settings.array_size):
                part = todo[i : i + settings.array_size]
                with executor.batch():
                    tasks = [executor.submit(Task(job)) for job in part]
                ids |= {job.name: task.job_id for job, task in zip(part, tasks, strict=True)}
                # At once: SLURM may refuse the next.
                Submitted({**before.tasks, **ids}, before.report).save(folder)
            queued = queue(folder)
            over = {*ids.values(), *(id_ for id_ in before.tasks.values() if id_ in queued)}
            after = ':'.join(sorted({id_.partition('_')[0] for id_ in over}))
            executor = submitit.SlurmExecutor(logs)
            executor.update_parameters(
                job_name=name, dependency=f'afterany:{after}', **settings.report
            )
            report = executor.submit(Report(folder.absolute(), tuple(jobs))).job_id
        except RuntimeError as error:  # submitit's errors are such
            raise GridError(f'SLURM did not take the jobs: {error}') from error
        submitted = Submitted({**before.tasks, **ids}, report)
        submitted.save(folder)
    return submitted


def queue(folder: Path) -> dict[str, str]:
    """The state of all jobs of a sweep that SLURM has not yet done with,
    :obj:`"pending"` or :obj:`"running"`, by their number.

    Raises:
        GridError: If SLURM does not answer.
    """
    command = ['squeue', '--me', '--noheader', '--array', '--format=%i %T']
    try:
        answer = subprocess.run(
            [*command, f'--name={job_name(folder)}'], capture_output=True, text=True, check=True
        )
    except FileNotFoundError:
        raise GridError('there is no SLURM here: squeue is not found') from None
    except subprocess.CalledProcessError as error:
        raise GridError(f'squeue failed: {error.stderr.strip()}') from None
    states = dict(line.split() for line in answer.stdout.splitlines())
    return {
        number: 'pending' if state in _WAITING else 'running' for number, state in states.items()
    }


def job_name(folder: Path) -> str:
    """The name of all SLURM jobs of a sweep."""
    return re.sub(r'[^A-Za-z0-9_.-]', '_', folder.name)


def slurm_folder(folder: Path) -> Path:
    """The folder of scripts and logs of SLURM jobs.

    Raises:
        GridError: If its name could be taken for more than a name.
    """
    return check_path(folder.absolute() / 'slurm')


def import_submitit() -> Any:
    """Imports submitit.

    Raises:
        GridError: If it is not installed.
    """
    try:
        import submitit
    except ImportError:
        raise GridError(
            "'--launcher slurm' needs submitit: pip install 'graphgym-nc[slurm]'"
        ) from None
    return submitit


@contextmanager
def _exported(environment: Mapping[str, str]) -> Iterator[None]:
    """Sets variables that sbatch passes on."""
    before = dict(os.environ)
    os.environ.update(environment)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _redirect(log: Path, mode: str = 'ab') -> None:
    """Sends all output to a file."""
    log.parent.mkdir(parents=True, exist_ok=True)
    sys.stdout.flush()
    sys.stderr.flush()
    with open(log, mode) as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
