"""Grids of configurations: products, samples of them, and their names."""

import copy
import hashlib
import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from graphgym_nc.results.names import value_name
from graphgym_nc.sweeps.errors import GridError
from graphgym_nc.sweeps.grid_file import Row, read_grid

Config = dict[str, Any]

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
        """Reads a grid, as :meth:`~graphgym_nc.sweeps.grid_file.read_grid` does."""
        return Grid(path, *read_grid(path))

    @property
    def sizes(self) -> list[int]:
        """The number of configurations of each product."""
        return [math.prod(len(row.choices) for row in block) for block in self.blocks]

    def products(self) -> Iterator[tuple[list[Row], tuple[Any, ...]]]:
        """All choices of all products."""
        for block, size in zip(self.blocks, self.sizes, strict=True):
            for index in range(size):
                yield block, _choose(block, index)

    def sample(
        self, number: int, compare: Sequence[str] = (), seed: int = 0
    ) -> Iterator[tuple[list[Row], tuple[Any, ...]]]:
        """Some choices, drawn uniformly and without repetition from the union
        of all products.

        Args:
            number: How many to draw.
            compare: Aliases of dimensions to compare: for each of them,
                :obj:`number` settings of all others are drawn, and each is
                combined with all of its choices (GraphGym's controlled random
                search).
            seed: The same seed draws the same.
        """
        rng = random.Random(seed)
        known = {row.alias for block in self.blocks for row in block}
        for name in compare:
            if name not in known:
                raise GridError(f"{self.path}: there is no alias '{name}' to compare")
        for alias in compare or (None,):
            blocks = [[_hold(row, alias) for row in block] for block in self.blocks]
            held = Grid(self.path, self.bases, blocks)
            total = sum(held.sizes)
            for index in sorted(rng.sample(range(total), min(number, total))):
                block, values = held._at(index)
                at = next((i for i, row in enumerate(block) if row.alias == alias), None)
                if at is None:
                    yield block, values
                    continue
                original = next(b for h, b in zip(blocks, self.blocks, strict=True) if h is block)
                for choice in original[at].choices:
                    yield original, (*values[:at], choice, *values[at + 1 :])

    def variants(
        self,
        name: str,
        config: Config,
        sample: int | None = None,
        compare: Sequence[str] = (),
    ) -> list[Variant]:
        """The configurations.

        Args:
            name: The name of the base configuration.
            config: The base configuration.
            sample: How many to draw, as in :meth:`sample`; all by default.
            compare: What to compare, as in :meth:`sample`.
        """
        if sample is None and sum(self.sizes) > _MAX_VARIANTS:
            raise GridError(
                f'{self.path}: {sum(self.sizes):,} configurations are more than anyone runs; draw '
                f'some of them with --sample N'
            )
        chosen = self.products() if sample is None else self.sample(sample, compare)
        variants: dict[str, Variant] = {}
        for block, values in chosen:
            variant = _variant(name, config, block, values)
            other = variants.setdefault(variant.name, variant)
            if other.config != variant.config:
                raise GridError(
                    f"{self.path}:{block[0].line}: '{variant.name}' is the name of two different "
                    f'configurations; give their keys different aliases'
                )
        return list(variants.values())

    def _at(self, index: int) -> tuple[list[Row], tuple[Any, ...]]:
        for block, size in zip(self.blocks, self.sizes, strict=True):
            if index < size:
                return block, _choose(block, index)
            index -= size
        raise IndexError(index)


def _choose(block: list[Row], index: int) -> tuple[Any, ...]:
    """The choices at a position of a product, the last row moving fastest."""
    values = []
    for row in reversed(block):
        index, digit = divmod(index, len(row.choices))
        values.append(row.choices[digit])
    return tuple(reversed(values))


def _hold(row: Row, alias: str | None) -> Row:
    return Row(row.line, row.key, row.alias, row.choices[:1]) if row.alias == alias else row


def _variant(name: str, config: Config, block: list[Row], values: tuple[Any, ...]) -> Variant:
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
