"""The record of a sweep: which configurations and seeds belong to it."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MANIFEST = 'grid.json'


@dataclass(frozen=True)
class Entry:
    """What is to be run of a configuration.

    Attributes:
        values: What the grid chose for it, by alias.
        seeds: The seeds.
    """

    values: dict[str, Any]
    seeds: list[int]


def read_manifest(folder: Path) -> dict[str, Entry]:
    """The configurations of a sweep by name; none if it has not been started."""
    path = folder / MANIFEST
    if not path.exists():
        return {}
    return {name: Entry(**entry) for name, entry in json.loads(path.read_text()).items()}
