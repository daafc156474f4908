"""The progress of a batch: a bar on a terminal, plain lines elsewhere."""

import sys
from datetime import timedelta
from types import TracebackType
from typing import Any

from tqdm import tqdm


class Progress:
    """Shows how many jobs are done, running and failed, and for how long.

    Args:
        total: The number of jobs.
        done: The number of those that need not be run.
        workers: The number of jobs that run at the same time.
    """

    def __init__(self, total: int, done: int, workers: int) -> None:
        self.total, self.over, self.workers = total, done, workers
        self.running = self.failed = 0
        self._seconds: list[float] = []
        self._bar: tqdm[Any] | None = None

    def __enter__(self) -> 'Progress':
        if sys.stderr.isatty():
            self._bar = tqdm(
                total=self.total,
                initial=self.over,
                unit='job',
                bar_format='{n_fmt}/{total_fmt} |{bar}| {elapsed}{postfix}',
                dynamic_ncols=True,
            )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.close()

    @property
    def eta(self) -> str:
        """The time that is left, from the mean of the jobs that ran here."""
        if not self._seconds:
            return '?'
        mean = sum(self._seconds) / len(self._seconds)
        left = mean * (self.total - self.over) / self.workers
        return str(timedelta(seconds=round(left)))

    @property
    def state(self) -> str:
        return f'running {self.running}, failed {self.failed}, ETA {self.eta}'

    def show(self, running: int, failed: int) -> None:
        """Takes note of the present state."""
        self.running, self.failed = running, failed
        if self._bar is not None:
            self._bar.set_postfix_str(self.state)

    def finish(self, name: str, what: str, seconds: float | None = None) -> None:
        """Counts a job as over, and says how it went."""
        self.over += 1
        if seconds is not None:
            self._seconds.append(seconds)
        if self._bar is not None:
            self._bar.update()
        self.say(f'{name} {what}')

    def say(self, text: str) -> None:
        """Writes a line."""
        if self._bar is not None:
            self._bar.write(text, file=sys.stdout)
        else:
            print(f'[{self.over}/{self.total}, {self.state}] {text}', flush=True)
