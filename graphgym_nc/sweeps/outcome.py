"""How a sweep stands, and how it ended, whoever has run it."""

import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from graphgym_nc.results.aggregate import AggError
from graphgym_nc.results.lock import is_locked
from graphgym_nc.results.record import read_record, run_status
from graphgym_nc.results.sweep import agg_sweep
from graphgym_nc.sweeps.jobs import Job

STATES = ('done', 'running', 'pending', 'failed')


def state(run_dir: Path, queued: str | None = None, was_queued: bool = False) -> str:
    """Whether a run is done, running, pending or failed.

    Args:
        run_dir: The folder of the run.
        queued: Its state in the queue of a cluster, if it is there.
        was_queued: Whether it has been.
    """
    status = run_status(run_dir)
    if status == 'DONE':
        return 'done'
    if queued is not None:
        return queued
    if is_locked(run_dir):
        return 'running'
    # What still says RUNNING has been interrupted.
    return 'failed' if was_queued or status in ('FAILED', 'RUNNING') else 'pending'


def reason(run_dir: Path) -> str:
    """Why a run that nobody works on is not done."""
    found = read_record(run_dir).get('reason')
    if run_status(run_dir) == 'FAILED':
        return str(found or 'FAILED')
    return 'cancelled, killed or out of time; started again, it goes on'


def show_states(states: Mapping[str, str], folder: Path) -> None:
    """Prints the state of every run, and how many there are of each."""
    for name, found in states.items():
        why = f'  ({reason(folder / name)})' if found == 'failed' else ''
        print(f'{found:<8} {name}{why}')
    counts = Counter(states.values())
    listed = ', '.join(f'{counts[name]} {name}' for name in STATES)
    print(f"{len(states)} job(s) in '{folder}': {listed}")


def failures(jobs: Iterable[Job]) -> dict[Job, str]:
    """Of jobs that are all over, those that are not DONE, and why."""
    return {job: reason(job.run_dir) for job in jobs if not job.is_done}


def finish(jobs: Sequence[Job], failed: Mapping[Job, str], folder: Path) -> int:
    """Aggregates, and lists what failed.

    Args:
        jobs: All jobs of the sweep.
        failed: Those that failed, and what there is to say of each.
        folder: The folder of the sweep.

    Returns:
        The exit code: 1 if anything failed.
    """
    try:
        incomplete = agg_sweep(folder)
        print(f"Tables: '{folder / 'agg'}'. Report: graphgym-nc report '{folder}'")
    except AggError as error:
        incomplete = []
        print(f'sweep: {error}', file=sys.stderr)
    names = {job.name for job in failed}
    for run in incomplete:
        if f'{run.run}/{run.seed}' not in names:
            print(f'Not in the tables: {run}', file=sys.stderr)
    for job, why in failed.items():
        print(f"\nFAILED {job.name} ({why}), '{job.log}':\n{tail(job.log)}", file=sys.stderr)
    if failed:
        done = len(jobs) - len(failed)
        print(f'\nsweep: {len(failed)} job(s) failed, {done} DONE', file=sys.stderr)
    return 1 if failed else 0


def aggregate_and_report(folder: Path, jobs: Sequence[Job]) -> int:
    """Does all that is to be done after the last job.

    Returns:
        The exit code: 1 if any job failed, or nothing is DONE.
    """
    code = finish(jobs, failures(jobs), folder)
    sys.stdout.flush()
    command = [sys.executable, '-m', 'graphgym_nc.cli', 'report', str(folder)]
    return 1 if subprocess.run(command, check=False).returncode else code


def tail(path: Path, lines: int = 8) -> str:
    """The last lines of a log."""
    try:
        text = path.read_text(errors='replace')
    except FileNotFoundError:
        return ''
    return '\n'.join(text.rstrip().splitlines()[-lines:])
