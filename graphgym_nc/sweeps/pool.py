"""Runs many jobs on this machine (a POSIX one), a few at a time."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from graphgym_nc.results.lock import try_lock
from graphgym_nc.sweeps.jobs import Job, Outcome
from graphgym_nc.sweeps.progress import Progress

_POLL_SECONDS = 0.1
_GRACE_SECONDS = 10.0


class Stopped(Exception):  # noqa: N818 - it is no error
    """A signal asked the batch to end."""

    def __init__(self, signum: int) -> None:
        super().__init__(signal.Signals(signum).name)
        self.exit_code = 128 + signum


@dataclass
class _Running:
    job: Job
    process: subprocess.Popen[bytes]
    slot: int
    start: float


def run_jobs(
    jobs: Sequence[Job],
    script: Path,
    workers: Sequence[Mapping[str, str]],
    retry: int = 0,
) -> Outcome:
    """Runs all jobs that are not DONE.

    A job that another batch works on is left to it, and counted once it is
    over.

    Args:
        jobs: The jobs.
        script: The Python script that does one of them.
        workers: The environment of each worker, as of
            :meth:`~graphgym_nc.utils.cores.environments`.
        retry: How many times a job that fails is started again.

    Raises:
        Stopped: If a signal came; all jobs that were running are then
            terminated.
    """
    outcome = Outcome(done=[job for job in jobs if job.is_done])
    queue = deque(job for job in jobs if job not in outcome.done)
    with Progress(len(jobs), len(outcome.done), len(workers)) as progress, _signals() as signals:
        pool = _Pool(script, workers, retry, queue, outcome, progress)
        try:
            while pool.queue or pool.running:
                pool.start()
                pool.show()
                time.sleep(_POLL_SECONDS)
                if signals:
                    raise Stopped(signals[0])
                pool.collect()
        finally:
            _terminate([item.process for item in pool.running])
    return outcome


@dataclass
class _Pool:
    """The jobs that wait, and those that run."""

    script: Path
    workers: Sequence[Mapping[str, str]]
    retry: int
    queue: deque[Job]
    outcome: Outcome
    progress: Progress
    running: list[_Running] = field(default_factory=list)
    failures: Counter[Job] = field(default_factory=Counter)

    def start(self) -> None:
        """Gives a job to every worker that has none."""
        free = [*set(range(len(self.workers))) - {item.slot for item in self.running}]
        for _ in range(len(self.queue) if free else 0):
            job = self.queue.popleft()
            lock = try_lock(job.run_dir) if free else None
            if lock is None:  # another batch is at it
                self.queue.append(job)
                continue
            if job.is_done:  # by another batch, meanwhile
                self.outcome.done.append(job)
                self.progress.finish(job.name, 'done elsewhere')
            else:
                slot = free.pop(0)
                process = _popen(job, self.script, self.workers[slot], lock)
                self.running.append(_Running(job, process, slot, time.monotonic()))
            os.close(lock)  # the job has it now

    def collect(self) -> None:
        """Takes note of all jobs that have ended."""
        for item in [item for item in self.running if item.process.poll() is not None]:
            self.running.remove(item)
            self.show()
            job, code = item.job, item.process.returncode
            seconds = time.monotonic() - item.start
            if code == 0 and job.is_done:  # its word alone is not enough
                self.outcome.done.append(job)
                self.progress.finish(job.name, f'done in {seconds:.0f} s', seconds)
            elif self.failures[job] < self.retry:
                self.failures[job] += 1
                self.queue.append(job)
                self.progress.say(f'{job.name} failed (exit code {code}), and is tried again')
            else:
                self.outcome.failed.append((job, f'exit code {code}'))
                self.show()
                self.progress.finish(job.name, f'FAILED (exit code {code})')

    def show(self) -> None:
        """Shows how things stand."""
        self.progress.show(running=len(self.running), failed=len(self.outcome.failed))


def _popen(job: Job, script: Path, env: Mapping[str, str], lock: int) -> 'subprocess.Popen[bytes]':
    with open(job.log, 'ab') as log:
        return subprocess.Popen(
            [sys.executable, str(script), *job.args],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, **env},
            pass_fds=[lock],
            # Ctrl-C on a terminal is for the batch, which then ends its jobs.
            start_new_session=True,
        )


def _terminate(processes: Sequence['subprocess.Popen[bytes]']) -> None:
    """Ends jobs and their own children: asks first, and then does not."""
    for process in processes:
        _signal_group(process, signal.SIGTERM)
    deadline = time.monotonic() + _GRACE_SECONDS
    for process in processes:
        with suppress(subprocess.TimeoutExpired):
            process.wait(max(0.0, deadline - time.monotonic()))
        if process.returncode is None:
            _signal_group(process, signal.SIGKILL)
            process.wait()


def _signal_group(process: 'subprocess.Popen[bytes]', signum: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signum)


@contextmanager
def _signals() -> Iterator[list[int]]:
    """Collects the signals that would end this process.

    An exception at any place could leave a job behind that nobody knows of.
    """
    received: list[int] = []
    before = {
        number: signal.signal(number, lambda signum, _: received.append(signum))
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    }
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
