"""One run of a sweep."""

from dataclasses import dataclass
from pathlib import Path

from graphgym_nc.results.record import run_status


@dataclass(frozen=True)
class Job:
    """One run.

    Attributes:
        name: The name to show.
        run_dir: The folder of its results.
        command: The words of its command, Python first.
    """

    name: str
    run_dir: Path
    command: tuple[str, ...]

    @property
    def log(self) -> Path:
        """The file that all its output goes to."""
        return self.run_dir / 'job.log'

    @property
    def is_done(self) -> bool:
        return run_status(self.run_dir) == 'DONE'
