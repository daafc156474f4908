"""Reads grids, which are files in GraphGym's format.

.. code-block::

    # config: configs/nc_cluster.yaml
    gnn.layers_mp  layers  [4, 16]    # key, alias, list of values
    gnn.dropout    drop    [0.0, 0.5]

    optim.base_lr  lr      [0.01]     # after a blank line: another product

Several lines :obj:`# config:` are for as many base configurations, each with all
products. Without any row, they are run as they are.
"""

import ast
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphgym_nc.results.names import value_name
from graphgym_nc.sweeps.errors import GridError
from graphgym_nc.utils.packaged import ROOT, packaged

_BASE = re.compile(r'#\s*config:\s*(.+)')
_ALIAS = re.compile(r'[A-Za-z0-9_.]+')


@dataclass(frozen=True)
class Row:
    """One line of a grid: a dimension and its choices."""

    line: int
    key: str
    alias: str
    choices: list[Any]


@dataclass(frozen=True)
class Grid:
    """A union of products.

    Attributes:
        path: The file.
        bases: The base configurations that the file names, if any.
        blocks: The rows of each product.
    """

    path: Path
    bases: list[Path]
    blocks: list[list[Row]]

    @staticmethod
    def load(path: Path) -> 'Grid':
        """Reads a grid.

        Raises:
            GridError: Naming file and line of all that is wrong.
        """
        return Grid(path, *_read(path))

    @property
    def sizes(self) -> list[int]:
        """The number of configurations of each product."""
        return [math.prod(len(row.choices) for row in block) for block in self.blocks]


def _read(path: Path) -> tuple[list[Path], list[list[Row]]]:
    if not path.is_file():
        raise GridError(f"there is no grid '{path}'")
    bases: list[Path] = []
    blocks: list[list[Row]] = [[]]
    errors = []
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        text = line.strip()
        named = _BASE.fullmatch(text)
        if named:
            bases.append(_find_base(path, named[1]))
        if not text:
            blocks.append([])
        elif not text.startswith('#'):
            try:
                row = _parse(number, text)
                _check_new(row, blocks[-1])
                blocks[-1].append(row)
            except GridError as error:
                errors.append(f'{path}:{number}: {error}')
    if errors:
        raise GridError('\n'.join(errors))
    blocks = [block for block in blocks if block]
    if not blocks and not bases:
        raise GridError(f'{path}: there is no row in it')
    return bases, blocks or [[]]


def _parse(number: int, text: str) -> Row:
    fields = text.split(maxsplit=2)
    if len(fields) < 3:
        raise GridError(f"'{text}' is not of the form: key alias [value, ...]")
    key, alias, values = fields
    if not _ALIAS.fullmatch(alias):
        raise GridError(f"the alias '{alias}' may hold letters, digits, '_' and '.' only")
    try:
        choices = ast.literal_eval(values)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        raise GridError(
            f"'{values}' is not a list of Python values, such as [1, 0.5, True, 'relu']"
        ) from None
    if not isinstance(choices, list):
        raise GridError(f"'{values}' is not a list; for a single value, write [{values}]")
    if not choices:
        raise GridError(f"there is no value for '{key}', and so no configuration")
    names = [value_name(choice) for choice in choices]
    for name in names:
        if names.count(name) > 1:
            raise GridError(f"'{key}' has the value {name} twice")
    return Row(number, key, alias, choices)


def _check_new(row: Row, block: list[Row]) -> None:
    for other in block:
        if row.key == other.key:
            raise GridError(f"'{row.key}' is also on line {other.line}")
        if row.alias == other.alias:
            raise GridError(f"the alias '{row.alias}' is also that of line {other.line}")


def _find_base(grid: Path, name: str) -> Path:
    """The base configuration: as seen from here, from the grid's project or from the package."""
    places = [Path(name), grid.parent / name, grid.parent.parent / name, ROOT / name]
    return next((place for place in places if place.is_file()), None) or packaged('configs', name)
