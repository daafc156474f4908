"""How a batch stands, and how it ended, whoever has run it."""

import runpy
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from graphgym_nc.results.aggregate import AggError
from graphgym_nc.results.lock import is_locked
from graphgym_nc.results.record import read_record, run_status
from graphgym_nc.results.sweep import agg_batch
from graphgym_nc.sweeps.jobs import Job, Outcome, tail

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


def finish(outcome: Outcome, folder: Path) -> int:
    """Aggregates, and lists what failed.

    Returns:
        The exit code: 1 if anything failed.
    """
    try:
        incomplete = agg_batch(folder)
        print(f"Tables: '{folder / 'agg'}'. Report: python run/report.py '{folder}'")
    except AggError as error:
        incomplete = []
        print(f'run_batch: {error}', file=sys.stderr)
    failed = {job.name for job, _ in outcome.failed}
    for run in incomplete:
        if f'{run.run}/{run.seed}' not in failed:
            print(f'Not in the tables: {run}', file=sys.stderr)
    for job, why in outcome.failed:
        print(f"\nFAILED {job.name} ({why}), '{job.log}':", file=sys.stderr)
        print(tail(job.log), file=sys.stderr)
    if outcome.failed:
        number = len(outcome.failed)
        print(f'\nrun_batch: {number} job(s) failed, {len(outcome.done)} DONE', file=sys.stderr)
    return 1 if outcome.failed else 0


def outcome_of(jobs: Iterable[Job]) -> Outcome:
    """What has become of jobs that are all over."""
    outcome = Outcome()
    for job in jobs:
        if job.is_done:
            outcome.done.append(job)
        else:
            outcome.failed.append((job, reason(job.run_dir)))
    return outcome


def aggregate_and_report(folder: Path, jobs: Sequence[Job]) -> int:
    """Does all that is to be done after the last job.

    Returns:
        The exit code: 1 if any job failed.
    """
    code = finish(outcome_of(jobs), folder)
    sys.argv = ['report.py', str(folder)]
    try:
        runpy.run_path(str(Path(__file__).parents[2] / 'run' / 'report.py'), run_name='__main__')
    except SystemExit as error:  # nothing is done, and so there is nothing to report
        print(error, file=sys.stderr)
        code = 1
    return code
