"""Submits jobs to SLURM, and asks what has become of them."""

import json
import os
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock

from graphgym_nc.sweeps.errors import GridError
from graphgym_nc.sweeps.jobs import Job
from graphgym_nc.sweeps.slurm.settings import SlurmSettings, check_path
from graphgym_nc.sweeps.slurm.tasks import Report, Task
from graphgym_nc.utils.files import write_atomically

_WAITING = ('PENDING', 'REQUEUED', 'REQUEUE_HOLD', 'REQUEUE_FED', 'SPECIAL_EXIT', 'RESV_DEL_HOLD')


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
