"""What a run was, and how it ended: :obj:`<run>/run.json`."""

import importlib.metadata
import json
import os
import platform
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import torch

from graphgym_nc.utils.distributed import is_first, world_size
from graphgym_nc.utils.files import write_atomically

_PACKAGES = ('graphgym-nc', 'torch', 'torch_geometric', 'pytorch-lightning', 'numpy', 'ogb')


class RunRecord:
    """The record of one run, kept up to date on disk (by the first of its
    processes).

    Its :obj:`status` is :obj:`"RUNNING"` until the run says otherwise: what
    still says so when nobody works on it has been interrupted.

    Args:
        folder: The folder of the run.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / 'run.json'
        self.facts = read_record(folder)

    @property
    def status(self) -> str | None:
        """:obj:`None` if there has been no run."""
        return self.facts.get('status')

    def start(self, **facts: Any) -> None:
        """Notes that the run begins, or goes on."""
        resumed = self.facts.get('resumed', []) + ([_now()] if self.facts else [])
        started = self.facts.get('started', _now())
        self._write(
            status='RUNNING', started=started, resumed=resumed, ended=None, reason=None,
            **environment(), **facts,
        )  # fmt: skip

    def note(self, **facts: Any) -> None:
        """Adds facts that have come to be known."""
        self._write(**facts)

    def done(self) -> None:
        """Notes that the run has come to its end."""
        self._write(status='DONE', ended=_now())

    def failed(self, reason: str) -> None:
        """Notes that the run has failed, in whichever of its processes: the
        first may not live to tell.
        """
        self.facts = {**self.facts, **read_record(self.path.parent)}
        self._write(status='FAILED', reason=reason, ended=_now(), by_any=True)

    def _write(self, by_any: bool = False, **facts: Any) -> None:
        self.facts.update(facts)
        if by_any or is_first():
            write_atomically(self.path, json.dumps(self.facts, indent=2) + '\n')


def read_record(run_dir: Path) -> dict[str, Any]:
    """What a run wrote about itself; nothing if it has not."""
    try:
        record = json.loads((run_dir / 'run.json').read_text())
    except (FileNotFoundError, NotADirectoryError, json.JSONDecodeError):
        return {}
    return record if isinstance(record, dict) else {}


def run_status(run_dir: Path) -> str:
    """How far a run has come: :obj:`"DONE"`, :obj:`"FAILED"`,
    :obj:`"RUNNING"` (or interrupted), :obj:`"UNKNOWN"` (there are results, but
    no record) or :obj:`"MISSING"`.
    """
    record = read_record(run_dir)
    if record:
        return str(record.get('status', 'UNKNOWN'))
    return 'UNKNOWN' if any(run_dir.glob('*/stats.json')) else 'MISSING'


def environment() -> dict[str, Any]:
    """The software and the machine that a figure was measured with."""
    return {
        'command': [Path(sys.argv[0]).name, *sys.argv[1:]],
        'python': platform.python_version(),
        'versions': {package: _version(package) for package in _PACKAGES},
        'commit': _commit(),
        'machine': {
            'system': platform.platform(),
            'cpus': os.cpu_count(),
            'threads': torch.get_num_threads(),
            'processes': world_size(),
            'gpus': [
                torch.cuda.get_device_name(i)
                for i in range(torch.cuda.device_count() if torch.cuda.is_available() else 0)
            ],
        },
    }


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _commit() -> str | None:
    """The commit of the source tree, with a mark if files have changed since;
    :obj:`None` for an installed package.
    """
    source = Path(__file__).parents[2]
    if not (source / '.git').exists():
        return None
    describe = ['describe', '--always', '--abbrev=40', '--dirty', '--exclude=*']
    try:
        command = ['git', '-C', str(source), *describe]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec='seconds')
