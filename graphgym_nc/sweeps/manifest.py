"""Adds configurations to the record of a sweep."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import yaml
from filelock import FileLock

from graphgym_nc.graphgym.keys import defaults
from graphgym_nc.results.differences import differing
from graphgym_nc.results.manifest import MANIFEST, Entry, read_manifest
from graphgym_nc.sweeps.errors import GridError
from graphgym_nc.sweeps.variants import Variant
from graphgym_nc.utils.files import write_atomically


def add_to_manifest(
    folder: Path, variants: Sequence[Variant], seeds: Iterable[int]
) -> dict[str, Path]:
    """Adds configurations to a sweep, and writes their files.

    Returns:
        The file of each configuration, by name.

    Raises:
        GridError: If there are results of another configuration by the same
            name, which would be taken for results of this one.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / '.grid.lock'):
        entries = read_manifest(folder)
        paths = {v.name: folder / 'configs' / f'{v.name}.yaml' for v in variants}
        for variant in variants:
            _refuse_another(folder, paths[variant.name], variant)
        for variant in variants:
            write_atomically(paths[variant.name], yaml.safe_dump(variant.config))
            old = entries.get(variant.name, Entry({}, []))
            entries[variant.name] = Entry(variant.values, sorted({*old.seeds, *seeds}))
        text = json.dumps({name: vars(entry) for name, entry in entries.items()}, indent=1)
        write_atomically(folder / MANIFEST, text + '\n')
    return paths


def _refuse_another(folder: Path, path: Path, variant: Variant) -> None:
    if not path.exists() or not (folder / variant.name).exists():
        return
    changes = differing(yaml.safe_load(path.read_text()), variant.config, defaults())
    for key, (before, now) in changes.items():
        raise GridError(
            f"'{folder / variant.name}' holds results with '{key}: {before}', but now it is "
            f"'{now}'; choose another 'out_dir', or remove that folder"
        )
