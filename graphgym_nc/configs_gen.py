"""The configurations of a grid, checked against GraphGym's keys."""

import copy
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml
from torch_geometric.graphgym.config import assert_cfg, get_fname, set_cfg
from yacs.config import CfgNode

from graphgym_nc.grid import Config, Grid, Variant, set_key
from graphgym_nc.grid_file import GridError, Row
from graphgym_nc.keys import merge, parse_opts, typed
from graphgym_nc.validation import ConfigError, check_cfg


def task_name(config_file: Path, grid: Grid) -> str:
    """The name of a folder for all results of a grid, as GraphGym's."""
    return f'{get_fname(str(config_file))}_grid_{grid.path.stem}'


def generate(
    grid: Grid,
    config_file: Path,
    opts: Sequence[str] = (),
    sample: int | None = None,
    compare: Sequence[str] = (),
) -> list[Variant]:
    """Makes the configurations of a grid, each of which can be run.

    Args:
        grid: The grid.
        config_file: The base configuration.
        opts: Keys and values, one after the other, that hold for all of them.
        sample: How many to draw; all by default.
        compare: Aliases of the dimensions to compare, if some are drawn.

    Raises:
        GridError: Naming file and line of what is wrong.
    """
    defaults = CfgNode()
    set_cfg(defaults)
    config = load_base(config_file)
    for key, value in read_opts(opts, defaults).items():
        set_key(config, key, value)
    _raise_all(_problem(config, defaults), [f"'{config_file}'"])

    grid = _typed_grid(grid, defaults, opts[::2])
    variants = grid.variants(get_fname(str(config_file)), config, sample, compare)
    for variant in variants:
        problem = _problem(variant.config, defaults)
        lines = [line for key, line in variant.lines.items() if problem and f"'{key}'" in problem]
        lines = lines or list(variant.lines.values())[:1]
        _raise_all(problem, [f'{grid.path}:{line}' for line in lines])
    return variants


def load_base(path: Path) -> Config:
    """Reads a configuration file.

    Raises:
        GridError: If there is none, or it is no YAML.
    """
    try:
        config = yaml.safe_load(path.read_text())
    except FileNotFoundError:
        raise GridError(f"there is no configuration file '{path}'") from None
    except yaml.YAMLError as error:
        raise GridError(f"'{path}' is not valid YAML: {error}") from error
    if not isinstance(config, dict):
        raise GridError(f"'{path}' holds no keys")
    return config


def read_opts(opts: Sequence[str], defaults: CfgNode) -> dict[str, Any]:
    """Keys and values of a command line.

    Raises:
        GridError: If a key does not exist, or a value is of another type.
    """
    try:
        return parse_opts(opts, defaults)
    except ConfigError as error:
        raise GridError(f'command line: {error}') from None


def _typed_grid(grid: Grid, defaults: CfgNode, given: Sequence[str]) -> Grid:
    """A grid whose values are of the types that their keys ask for.

    Raises:
        GridError: Naming every line that has something wrong.
    """
    blocks: list[list[Row]] = []
    errors = []
    for block in grid.blocks:
        blocks.append([])
        for row in block:
            place = f'{grid.path}:{row.line}'
            try:
                blocks[-1].append(_typed_row(row, defaults, given))
            except ConfigError as error:
                errors.append(f'{place}: {error}')
    if errors:
        raise GridError('\n'.join(errors))
    return replace(grid, blocks=blocks)


def _typed_row(row: Row, defaults: CfgNode, given: Sequence[str]) -> Row:
    if row.key in ('seed', 'out_dir'):
        raise ConfigError(f"'{row.key}' is none of a grid: every job has its own")
    if row.key in given:
        raise ConfigError(f"'{row.key}' is also on the command line")
    return replace(row, choices=[typed(defaults, row.key, value) for value in row.choices])


def _problem(config: Config, defaults: CfgNode) -> str | None:
    """What a run would have to say on a configuration, if anything."""
    node = defaults.clone()
    try:
        with _silent_logging():
            merge(node, copy.deepcopy(config))
            assert_cfg(node)
            check_cfg(node)
    except (KeyError, ValueError, AssertionError) as error:
        return str(error.args[0] if error.args else error)
    return None


@contextmanager
def _silent_logging() -> Iterator[None]:
    """GraphGym's remarks on a configuration are for its run, not for here."""
    before = logging.root.manager.disable
    logging.disable()
    try:
        yield
    finally:
        logging.disable(before)


def _raise_all(problem: str | None, places: Sequence[str]) -> None:
    if problem:
        raise GridError('\n'.join(f'{place}: {problem}' for place in places))
