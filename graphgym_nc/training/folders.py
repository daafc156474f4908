"""What may be written where: nothing that has been computed is lost or mixed."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from torch_geometric.graphgym.config import cfg

from graphgym_nc.graphgym.keys import defaults
from graphgym_nc.graphgym.validation import ConfigError
from graphgym_nc.results.aggregate import seed_folders
from graphgym_nc.results.differences import differing
from graphgym_nc.results.record import RunRecord
from graphgym_nc.utils.files import write_atomically

#: What has become of a run that is not DONE. Nobody works on it: this process has its lock.
_ENDS = {'RUNNING': 'it was interrupted', 'FAILED': 'it failed'}


def make_room(out_dir: Path, seeds: Sequence[int], config: str, overwrite: bool) -> bool:
    """Makes room for the first of some seeds. Its lock must be held.

    With :obj:`train.auto_resume`, a seed that is DONE is left as it is, and one
    that was interrupted goes on.

    Args:
        out_dir: The folder of the configuration.
        seeds: This seed and those that come after it.
        config: The configuration, as :meth:`resolved` gives it.
        overwrite: Whether to delete the results of this seed. Those of the others
            stay until it is their turn.

    Returns:
        Whether there is anything to run.

    Raises:
        ConfigError: If results are in the way, or others in the folder came from
            another configuration. Nothing has been changed then.
    """
    run_dirs = [out_dir / str(seed) for seed in seeds]
    for run_dir in run_dirs:
        status = RunRecord(run_dir).status
        if status is not None and not overwrite and not cfg.train.auto_resume:
            raise ConfigError(_in_the_way(run_dir, status))
    for folder in seed_folders(out_dir):
        if not (overwrite and folder in run_dirs):
            _refuse_other_config(folder, config)
    if overwrite and run_dirs[0].exists():
        shutil.rmtree(run_dirs[0])
    if RunRecord(run_dirs[0]).status == 'DONE':
        return False
    write_atomically(out_dir / cfg.cfg_dest, config)
    return True


def resolved() -> str:
    """The configuration as YAML, so that it can be run again."""
    config = cfg.clone()
    for key in ('params', 'run_dir', 'share'):  # set by the run, not for it
        config.pop(key, None)
    return config.dump()


def chosen(config: str) -> dict[str, Any]:
    """The keys of a configuration that are not at their default."""
    return {key: now for key, (_, now) in _changes({}, config).items()}


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


def _in_the_way(folder: Path, status: str) -> str:
    if status == 'DONE':
        return (
            f"there are results in '{folder}'; keep them and run what is missing with "
            f"'train.auto_resume True', choose another 'seed' or 'out_dir', or replace them with "
            f'--overwrite'
        )
    end = _ENDS.get(status, status)
    return (
        f"there is an unfinished run in '{folder}' ({end}); go on with it with "
        f"'train.auto_resume True', or replace it with --overwrite"
    )


def _refuse_other_config(folder: Path, config: str) -> None:
    facts, path = RunRecord(folder).facts, folder.parent / cfg.cfg_dest
    if not facts or not ('config' in facts or path.exists()):
        return
    # Runs of older versions did not record their own.
    before = facts['config'] if 'config' in facts else yaml.safe_load(path.read_text())
    changes = _changes(before, config)
    if changes:
        listed = ', '.join(
            f'{key} ({before!r}, now {now!r})' for key, (before, now) in [*changes.items()][:5]
        )
        raise ConfigError(
            f"'{folder}' was run with another configuration, and results must not be mixed: "
            f"{listed}; choose another 'out_dir', or replace it with --overwrite"
        )


def _changes(before: dict[str, Any], config: str) -> dict[str, tuple[Any, Any]]:
    return differing(before, yaml.safe_load(config), defaults())
