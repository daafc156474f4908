"""Configurations and grids that come with the package."""

import argparse
import os
from pathlib import Path
from typing import Any

#: The folder that holds ``configs`` and ``grids``. In a checkout, they are links.
ROOT = Path(__file__).parents[1]

_SUFFIX = {'configs': '.yaml', 'grids': '.txt'}


def packaged(kind: str, name: str) -> Path:
    """The file that a name stands for.

    A bare name, without folder and suffix, is that of a packaged file, unless the
    working folder has a file of this name. Any other name is a path.

    Args:
        kind: :obj:`"configs"` or :obj:`"grids"`.
        name: The name.

    Raises:
        FileNotFoundError: If there is no packaged file of a bare name.
    """
    path = Path(name)
    if path.is_file() or os.sep in name or path.suffix:
        return path
    if name not in (files := _files(kind)):
        raise FileNotFoundError(
            f"there is no file '{name}', and none of this name in the packaged {kind}: "
            f'--list shows them'
        )
    return files[name]


def packaged_names(kind: str) -> list[str]:
    """The names of all packaged files of a kind."""
    return sorted(_files(kind))


def _files(kind: str) -> dict[str, Path]:
    """All packaged files of a kind, in whatever folder, by name."""
    return {path.stem: path for path in (ROOT / kind).rglob(f'*{_SUFFIX[kind]}')}


def packaged_config(name: str) -> Path:
    """The type of an argument that names a configuration."""
    return _argument('configs', name)


def packaged_grid(name: str) -> Path:
    """The type of an argument that names a grid."""
    return _argument('grids', name)


class ListPackaged(argparse.Action):
    """An option that prints the names of packaged files, and exits."""

    def __init__(self, const: str, **kwargs: Any) -> None:
        super().__init__(nargs=0, const=const, help=f'list the packaged {const}', **kwargs)

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        print('\n'.join(packaged_names(str(self.const))))
        parser.exit()


def _argument(kind: str, name: str) -> Path:
    try:
        return packaged(kind, name)
    except FileNotFoundError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
