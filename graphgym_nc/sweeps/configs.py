"""The configurations of a grid, checked against GraphGym's keys."""

import copy
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import yaml
from torch_geometric.graphgym.config import assert_cfg, get_fname, set_cfg
from yacs.config import CfgNode

from graphgym_nc.graphgym.config import merge, parse_opts, typed
from graphgym_nc.graphgym.validation import ConfigError, check_cfg
from graphgym_nc.sweeps.errors import GridError
from graphgym_nc.sweeps.grid import Grid, Row
from graphgym_nc.sweeps.variants import Config, Variant, set_key, variants_of


def task_name(config_files: Sequence[Path], grid: Grid) -> str:
    """The name of a folder for all results of a sweep: GraphGym's, if there is
    one base configuration.
    """
    if len(config_files) > 1:
        return f'grid_{grid.path.stem}'
    return f'{get_fname(str(config_files[0]))}_grid_{grid.path.stem}'


def generate(
    grid: Grid,
    config_files: Sequence[Path],
    opts: Sequence[str] = (),
    sample: int | None = None,
    compare: Sequence[str] = (),
) -> list[Variant]:
    """Makes the configurations of a grid, each of which can be run.

    Args:
        grid: The grid.
        config_files: The base configurations. If there are several, the name of
            each is a choice like any other, with the alias :obj:`config`.
        opts: Keys and values, one after the other, that hold for all of them.
        sample: How many to draw around each base; all by default.
        compare: Aliases of the dimensions to compare, if some are drawn.

    Raises:
        GridError: Naming file and line of what is wrong.
    """
    defaults = CfgNode()
    set_cfg(defaults)
    _refuse_namesakes(grid, config_files)
    try:
        given = parse_opts(opts, defaults)
    except ConfigError as error:
        raise GridError(f'command line: {error}') from None
    grid = _typed_grid(grid, defaults, opts[::2])
    variants: list[Variant] = []
    for path in config_files:
        config, name = load_base(path), get_fname(str(path))
        for key, value in given.items():
            set_key(config, key, value)
        _raise_all(_problem(config, defaults), [f"'{path}'"])
        around = variants_of(grid, name, config, sample, compare)
        if len(config_files) > 1:
            around = [replace(v, values={'config': name, **v.values}) for v in around]
        variants += around
    for variant in variants:
        problem = _problem(variant.config, defaults)
        lines = [line for key, line in variant.lines.items() if problem and f"'{key}'" in problem]
        lines = lines or list(variant.lines.values())[:1]
        _raise_all(problem, [f'{grid.path}:{line}' for line in lines])
    return variants


def base_configs(grid: Grid, given: Path | None) -> list[Path]:
    """The base configuration that was given or, without, those of the grid.

    Raises:
        GridError: If there is none.
    """
    bases = [given] if given is not None else grid.bases
    if not bases:
        raise GridError(
            f'{grid.path}: no base configuration; give it with --config FILE or in a line '
            f"'# config: FILE'"
        )
    return bases


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
        raise ConfigError(f"'{row.key}' must not be in a grid: every job has its own")
    if row.key in given:
        raise ConfigError(f"'{row.key}' is also on the command line")
    return replace(row, choices=[typed(defaults, row.key, value) for value in row.choices])


def _refuse_namesakes(grid: Grid, config_files: Sequence[Path]) -> None:
    """Results of two files of one name would be mixed."""
    names = [get_fname(str(path)) for path in config_files]
    for name in names:
        if names.count(name) > 1:
            raise GridError(f"{grid.path}: '{name}' is the name of two base configurations")


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
