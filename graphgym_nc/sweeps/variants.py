"""The configurations of a grid: products, samples of them, and their names."""

import copy
import hashlib
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np

from graphgym_nc.results.names import value_name
from graphgym_nc.sweeps.errors import GridError
from graphgym_nc.sweeps.grid import Grid, Row

Config = dict[str, Any]
Values = tuple[Any, ...]

_MAX_NAME = 200
_MAX_VARIANTS = 10_000


@dataclass(frozen=True)
class Variant:
    """One configuration of a grid.

    Attributes:
        name: The name, *e.g.*, :obj:`nc_cluster-layers=4-drop=0.0`.
        values: What was chosen, by alias.
        config: The configuration, which shares nothing with any other.
        lines: The line of the grid that each key comes from.
    """

    name: str
    values: dict[str, Any]
    config: Config
    lines: dict[str, int] = field(compare=False)


def variants_of(
    grid: Grid,
    name: str,
    config: Config,
    sample: int | None = None,
    compare: Sequence[str] = (),
) -> list[Variant]:
    """The configurations that a grid makes of one base configuration.

    Args:
        grid: The grid.
        name: The name of the base configuration.
        config: The base configuration.
        sample: How many to draw, as in :meth:`draw`; all by default.
        compare: What to compare, as in :meth:`draw`.
    """
    if sample is None and sum(grid.sizes) > _MAX_VARIANTS:
        raise GridError(
            f'{grid.path}: {sum(grid.sizes):,} configurations are more than anyone runs; draw '
            f'some of them with --sample N'
        )
    everything = ((b, v) for b in grid.blocks for v in product(*(row.choices for row in b)))
    chosen = everything if sample is None else draw(grid, sample, compare)
    variants: dict[str, Variant] = {}
    for block, values in chosen:
        variant = _variant(name, config, block, values)
        other = variants.setdefault(variant.name, variant)
        if other.config != variant.config:
            raise GridError(
                f"{grid.path}:{block[0].line}: '{variant.name}' is the name of two different "
                f'configurations; give their keys different aliases'
            )
    return list(variants.values())


def draw(
    grid: Grid, number: int, compare: Sequence[str] = (), seed: int = 0
) -> Iterator[tuple[list[Row], Values]]:
    """Some choices, drawn uniformly and without repetition from the union of all
    products.

    Args:
        grid: The grid.
        number: How many to draw.
        compare: Aliases of dimensions to compare: for each of them, :obj:`number`
            settings of all others are drawn, and each is combined with all of its
            choices (GraphGym's controlled random search).
        seed: The same seed draws the same.
    """
    rng = random.Random(seed)
    known = {row.alias for block in grid.blocks for row in block}
    for name in compare:
        if name not in known:
            raise GridError(f"{grid.path}: there is no alias '{name}' to compare")
    for alias in compare or (None,):
        # The compared row keeps one choice while the others are drawn.
        blocks = [[_hold(row, alias) for row in block] for block in grid.blocks]
        held = replace(grid, blocks=blocks)
        total = sum(held.sizes)
        for index in sorted(rng.sample(range(total), min(number, total))):
            number_of_block, values = _at(held, index)
            block = grid.blocks[number_of_block]
            at = next((i for i, row in enumerate(block) if row.alias == alias), None)
            if at is None:
                yield block, values
                continue
            for choice in block[at].choices:
                yield block, (*values[:at], choice, *values[at + 1 :])


def _at(grid: Grid, index: int) -> tuple[int, Values]:
    """The block at a position of the union, by its number, and its choices there, of which
    those of the last row move fastest.
    """
    number = 0
    while index >= grid.sizes[number]:
        index -= grid.sizes[number]
        number += 1
    block = grid.blocks[number]
    digits = np.unravel_index(index, [len(row.choices) for row in block])
    return number, tuple(row.choices[i] for row, i in zip(block, digits, strict=True))


def _hold(row: Row, alias: str | None) -> Row:
    return replace(row, choices=row.choices[:1]) if row.alias == alias else row


def _variant(name: str, config: Config, block: list[Row], values: Values) -> Variant:
    config = copy.deepcopy(config)
    for row, value in zip(block, values, strict=True):
        name += f'-{row.alias}={value_name(value)}'
        set_key(config, row.key, copy.deepcopy(value))
    if len(name) > _MAX_NAME:  # file systems end at 255
        digest = hashlib.sha256(name.encode()).hexdigest()[:12]
        name = f'{name[: _MAX_NAME - 13]}-{digest}'
    chosen = {row.alias: value for row, value in zip(block, values, strict=True)}
    return Variant(name, chosen, config, {row.key: row.line for row in block})


def set_key(config: Config, key: str, value: Any) -> None:
    """Sets a key such as :obj:`gnn.act` in nested dictionaries."""
    *parents, last = key.split('.')
    for parent in parents:
        config = config.setdefault(parent, {})
    config[last] = value
