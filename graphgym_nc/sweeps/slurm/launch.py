"""A sweep on a SLURM cluster: what is left to submit, and waiting for it."""

import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path

from graphgym_nc.results.record import run_status
from graphgym_nc.sweeps.errors import GridError
from graphgym_nc.sweeps.jobs import Job
from graphgym_nc.sweeps.outcome import failures, finish, state
from graphgym_nc.sweeps.progress import Progress
from graphgym_nc.sweeps.slurm.settings import SlurmSettings
from graphgym_nc.sweeps.slurm.submit import Submitted, import_submitit, queue, slurm_folder, submit
from graphgym_nc.sweeps.variants import Variant
from graphgym_nc.utils.cores import environments

_POLL_SECONDS = 2.0
_PATIENCE_SECONDS = 600.0


def states(folder: Path, names: Iterable[str]) -> dict[str, str]:
    """Whether each run of a sweep is done, running, pending or failed.

    Raises:
        GridError: If some are with a SLURM that does not answer.
    """
    submitted = Submitted.load(folder)
    queued = queue(folder) if submitted.tasks else {}
    return {
        name: state(
            folder / name, queued.get(submitted.tasks.get(name, '')), name in submitted.tasks
        )
        for name in names
    }


def left_to_submit(jobs: Sequence[Job], folder: Path) -> list[Job]:
    """The jobs that are not done, and that nobody works on or has queued.

    Raises:
        GridError: If SLURM does not answer.
    """
    submitted, queued = Submitted.load(folder), queue(folder)
    return [
        job
        for job in jobs
        if submitted.tasks.get(job.name) not in queued
        and state(job.run_dir) in ('pending', 'failed')
    ]


def job_shape(variants: Sequence[Variant]) -> tuple[int, int]:
    """The number of devices and nodes that each configuration needs.

    Raises:
        GridError: If they need different ones: one array has room for but one.
    """
    shapes = {(v.config.get('devices', 1), v.config.get('num_nodes', 1)) for v in variants}
    if len(shapes) > 1:
        raise GridError(
            "the configurations differ in 'devices' or 'num_nodes': make it one grid for each"
        )
    return shapes.pop()


def run_on_slurm(
    jobs: Sequence[Job],
    folder: Path,
    settings: SlurmSettings,
    shape: tuple[int, int],
    wait: bool,
) -> int:
    """Submits all jobs that are neither done nor in the queue.

    Returns:
        The exit code: 0 if they have been submitted; if they are waited for, 1
        if any failed.
    """
    todo = left_to_submit(jobs, folder)
    if not todo and not _lacks_report(folder):
        print('Nothing to submit: all jobs are done, running or in the queue.')
    else:
        environment = environments(1, settings.cpus, [])[0]
        submitted = submit(jobs, todo, folder, settings, shape, environment)
        arrays = sorted({submitted.tasks[job.name].partition('_')[0] for job in todo})
        print(
            f'Submitted {len(todo)} task(s) as SLURM job {", ".join(arrays) or "-"}; job '
            f"{submitted.report} reports when all are over, in '{folder / 'report.log'}'"
        )
    return _wait(jobs, folder) if wait else 0


def _lacks_report(folder: Path) -> bool:
    """Whether tasks are in the queue, but no job to report on them."""
    submitted, queued = Submitted.load(folder), queue(folder)
    waiting = any(task in queued for task in submitted.tasks.values())
    return waiting and submitted.report not in queued


def show_plan(
    jobs: Sequence[Job], folder: Path, settings: SlurmSettings, shape: tuple[int, int]
) -> None:
    """Prints what :meth:`run_on_slurm` would submit.

    Raises:
        GridError: If it could not.
    """
    import_submitit()
    slurm_folder(folder)
    todo = left_to_submit(jobs, folder)
    for job in todo:
        print(f'{run_status(job.run_dir):<8} {job.name}')
    print(f'Would submit {len(todo)} task(s), each with:')
    for key, value in settings.tasks(*shape).items():
        print(f'  {key}: {value}')
    print(f'and a job that reports on them, with:\n  dependency: afterany, {settings.report}')


def _wait(jobs: Sequence[Job], folder: Path) -> int:
    names, over = [job.name for job in jobs], {job.name for job in jobs if job.is_done}
    report = Submitted.load(folder).report
    answered = time.monotonic()
    try:
        with closing(Progress(len(jobs), len(over))) as progress:
            going_on = True
            while going_on:
                try:
                    found, reporting = states(folder, names), report in queue(folder)
                except GridError as error:  # a controller that restarts does not answer
                    if time.monotonic() - answered > _PATIENCE_SECONDS:
                        raise
                    progress.say(f'{error}; asking again')
                    time.sleep(_POLL_SECONDS)
                    continue
                answered = time.monotonic()
                counts = Counter(found.values())
                progress.show(counts['running'], counts['failed'])
                for name in names:
                    if found[name] in ('done', 'failed') and name not in over:
                        over.add(name)
                        progress.finish(name, found[name])
                going_on = reporting or counts['running'] + counts['pending'] > 0
                time.sleep(_POLL_SECONDS if going_on else 0)
    except KeyboardInterrupt:
        print('\nsweep: no longer waiting; the jobs go on (see --status)', file=sys.stderr)
        return 130
    return finish(jobs, failures(jobs), folder)
