"""Who may write where: nothing that has been computed is lost or mixed."""

import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml
from filelock import FileLock, Timeout
from torch_geometric.graphgym.config import cfg

from graphgym_nc.graphgym.keys import defaults
from graphgym_nc.graphgym.validation import ConfigError
from graphgym_nc.results.aggregate import seed_folders
from graphgym_nc.results.differences import differing
from graphgym_nc.results.record import RunRecord
from graphgym_nc.utils.files import write_atomically


def plan(out_dir: Path, seeds: Iterable[int], overwrite: bool) -> list[int]:
    """Decides which seeds are to be run, and makes room for them.

    With :obj:`train.auto_resume`, a seed that is DONE is left as it is, and one
    that was interrupted goes on.

    Returns:
        The seeds to run.

    Raises:
        ConfigError: If results are in the way, or others in the folder came from
            another configuration. Nothing has been changed then.
    """
    to_run = []
    for seed in seeds:
        status = RunRecord(out_dir / str(seed)).status
        if status is not None and not overwrite and not cfg.train.auto_resume:
            raise ConfigError(_in_the_way(out_dir / str(seed), status))
        if status != 'DONE' or overwrite:
            to_run.append(seed)

    others = [
        folder
        for folder in (seed_folders(out_dir) if out_dir.exists() else [])
        if RunRecord(folder).status is not None and not (overwrite and int(folder.name) in to_run)
    ]
    path = out_dir / cfg.cfg_dest
    if others and path.exists():
        _refuse_other_config(path, others[0])
    for seed in to_run if overwrite else ():
        if (out_dir / str(seed)).exists():
            shutil.rmtree(out_dir / str(seed))
    if to_run:
        write_atomically(path, _resolved())
    return to_run


def refuse_other_data(run_dir: Path, fingerprint: str) -> None:
    """Makes sure that all seeds of a configuration see the same data: what is
    official today may have been generated yesterday.

    Raises:
        ConfigError: If another seed has seen other data.
    """
    for folder in seed_folders(run_dir.parent):
        facts = RunRecord(folder).facts
        if facts.get('data_fingerprint', fingerprint) != fingerprint:
            raise ConfigError(
                f"'{folder}' was run on other data ({facts['data_source']}), and results must not "
                f"be mixed; choose another 'out_dir'"
            )


@contextmanager
def alone_in(run_dir: Path) -> Iterator[None]:
    """Keeps other processes out of the folder of a run.

    Raises:
        ConfigError: If there is one already.
    """
    run_dir.mkdir(parents=True, exist_ok=True)
    lock = FileLock(run_dir / '.lock')
    try:
        lock.acquire(blocking=False)
    except Timeout:
        raise ConfigError(f"another process is working in '{run_dir}'") from None
    try:
        yield
    finally:
        lock.release()


def _resolved() -> str:
    """The configuration, so that it can be run again."""
    config = cfg.clone()
    for key in ('params', 'run_dir', 'share'):  # set by the run, not for it
        config.pop(key, None)
    config.out_dir = str(Path(cfg.out_dir).parent)
    return config.dump()


def _in_the_way(folder: Path, status: str) -> str:
    if status == 'DONE':
        return (
            f"there are results in '{folder}'; keep them and run what is missing with "
            f"'train.auto_resume True', choose another 'seed' or 'out_dir', or replace them with "
            f'--overwrite'
        )
    return (
        f"there is an unfinished run in '{folder}' ({status}); go on with it with "
        f"'train.auto_resume True', or replace it with --overwrite"
    )


def _refuse_other_config(path: Path, example: Path) -> None:
    before, now = yaml.safe_load(path.read_text()), yaml.safe_load(cfg.dump())
    changes = differing(before, now, defaults())
    if changes:
        listed = ', '.join(
            f'{key} ({before!r}, now {now!r})' for key, (before, now) in [*changes.items()][:5]
        )
        raise ConfigError(
            f"'{example}' was run with another configuration, and results must not be mixed: "
            f"{listed}; choose another 'out_dir', or replace it with --overwrite"
        )
