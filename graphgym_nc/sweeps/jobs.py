"""Jobs, and what became of them."""

from dataclasses import dataclass, field
from pathlib import Path

from graphgym_nc.results.record import run_status


@dataclass(frozen=True)
class Job:
    """One run.

    Attributes:
        name: The name to show.
        run_dir: The folder of its results.
        args: The arguments of the script.
    """

    name: str
    run_dir: Path
    args: tuple[str, ...]

    @property
    def log(self) -> Path:
        """The file that all its output goes to."""
        return self.run_dir / 'job.log'

    @property
    def is_done(self) -> bool:
        return run_status(self.run_dir) == 'DONE'


@dataclass
class Outcome:
    """What became of jobs.

    Attributes:
        done: Those that are DONE.
        failed: Those that failed, and what there is to say of it.
    """

    done: list[Job] = field(default_factory=list)
    failed: list[tuple[Job, str]] = field(default_factory=list)


def tail(path: Path, lines: int = 8) -> str:
    """The last lines of a log."""
    try:
        text = path.read_text(errors='replace')
    except FileNotFoundError:
        return ''
    return '\n'.join(text.rstrip().splitlines()[-lines:])
