"""Runs many jobs on this machine (a POSIX one), a few at a time."""

import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field

from graphgym_nc.results.lock import held_for_child, try_lock
from graphgym_nc.sweeps.jobs import Job
from graphgym_nc.sweeps.progress import Progress

_POLL_SECONDS = 0.1
_GRACE_SECONDS = 10.0


class Stopped(Exception):  # noqa: N818 - it is no error
    """A signal asked the sweep to end."""

    def __init__(self, signum: int) -> None:
        super().__init__(signal.Signals(signum).name)
        self.exit_code = 128 + signum


def run_jobs(
    jobs: Sequence[Job], workers: Sequence[Mapping[str, str]], retry: int = 0
) -> dict[Job, str]:
    """Runs all jobs that are not DONE.

    A job that another process works on is left to it, and counted once it is
    over.

    Args:
        jobs: The jobs.
        workers: The environment of each worker, as of
            :meth:`~graphgym_nc.utils.cores.environments`.
        retry: How many times a job that fails is started again.

    Returns:
        The jobs that failed, and what there is to say of each.

    Raises:
        Stopped: If a signal came; all jobs that were running are then
            terminated.
    """
    queue = [job for job in jobs if not job.is_done]
    with closing(Progress(len(jobs), len(jobs) - len(queue))) as progress, _signals() as signals:
        pool = _Pool(queue, [*workers], retry, progress)
        try:
            while pool.queue or pool.running:
                pool.start()
                progress.show(len(pool.running), len(pool.failed))
                time.sleep(_POLL_SECONDS)
                if signals:
                    raise Stopped(signals[0])
                pool.collect()
        finally:
            _terminate([item.process for item in pool.running])
    return pool.failed


@dataclass
class _Running:
    job: Job
    process: subprocess.Popen[bytes]
    worker: Mapping[str, str]
    start: float = field(default_factory=time.monotonic)


@dataclass
class _Pool:
    """The jobs that wait, those that run, and those that failed."""

    queue: list[Job]
    free: list[Mapping[str, str]]
    retry: int
    progress: Progress
    running: list[_Running] = field(default_factory=list)
    failed: dict[Job, str] = field(default_factory=dict)
    retried: Counter[Job] = field(default_factory=Counter)

    def start(self) -> None:
        """Gives a job to every worker that has none."""
        for job in [*self.queue]:
            if not self.free:
                return
            lock = try_lock(job.run_dir)
            if lock is None:  # another process is at it
                continue
            self.queue.remove(job)
            if job.is_done:  # by another process, meanwhile
                self.progress.finish(job.name, 'done elsewhere')
            else:
                worker = self.free.pop(0)
                self.running.append(_Running(job, _popen(job, worker, lock), worker))
            os.close(lock)  # the job has it now

    def collect(self) -> None:
        """Takes note of all jobs that have ended."""
        for item in [item for item in self.running if item.process.poll() is not None]:
            self.running.remove(item)
            self.free.append(item.worker)
            job, code = item.job, item.process.returncode
            if code == 0 and job.is_done:  # its word alone is not enough
                end = f'done in {time.monotonic() - item.start:.0f} s'
            elif self.retried[job] < self.retry:
                self.retried[job] += 1
                self.queue.append(job)
                self.progress.say(f'{job.name} failed (exit code {code}), and is tried again')
                continue
            else:
                self.failed[job] = f'exit code {code}'
                end = f'FAILED (exit code {code})'
            self.progress.show(len(self.running), len(self.failed))
            self.progress.finish(job.name, end)


def _popen(job: Job, worker: Mapping[str, str], lock: int) -> 'subprocess.Popen[bytes]':
    job.run_dir.mkdir(exist_ok=True)
    with open(job.log, 'ab') as log:
        return subprocess.Popen(
            job.command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, **worker, **held_for_child(job.run_dir)},
            pass_fds=[lock],
            # Ctrl-C on a terminal is for the sweep, which then ends its jobs.
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
