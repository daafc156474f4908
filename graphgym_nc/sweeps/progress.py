"""The progress of a sweep: a bar on a terminal, plain lines elsewhere."""

import sys
import time
from datetime import timedelta

from tqdm import tqdm


class Progress:
    """Shows how many jobs are done, running and failed, and for how long.

    Args:
        total: The number of jobs.
        over: The number of those that need not be run.
    """

    def __init__(self, total: int, over: int) -> None:
        self.total, self.over = total, over
        self.running = self.failed = 0
        self._over_before, self._start = over, time.monotonic()
        self._bar = tqdm(
            total=total,
            initial=over,
            unit='job',
            bar_format='{n_fmt}/{total_fmt} |{bar}| {elapsed}{postfix}',
            dynamic_ncols=True,
            disable=not sys.stderr.isatty(),
        )

    @property
    def state(self) -> str:
        finished = self.over - self._over_before
        left = '?'
        if finished:
            seconds = (time.monotonic() - self._start) / finished * (self.total - self.over)
            left = str(timedelta(seconds=round(seconds)))
        return f'running {self.running}, failed {self.failed}, ETA {left}'

    def show(self, running: int, failed: int) -> None:
        """Takes note of the present state."""
        self.running, self.failed = running, failed
        self._bar.set_postfix_str(self.state)

    def finish(self, name: str, what: str) -> None:
        """Counts a job as over, and says how it went."""
        self.over += 1
        self._bar.update()
        self.say(f'{name} {what}')

    def say(self, text: str) -> None:
        """Writes a line."""
        if self._bar.disable:
            print(f'[{self.over}/{self.total}, {self.state}] {text}', flush=True)
        else:
            self._bar.write(text, file=sys.stdout)

    def close(self) -> None:
        """Leaves the terminal to others."""
        self._bar.close()
