"""``graphgym-nc cost``: what models cost at inference."""

import sys
from collections.abc import Sequence
from pathlib import Path

from graphgym_nc.benchmark.cost import measure_folder
from graphgym_nc.cli.parser import make_parser
from graphgym_nc.graphgym.validation import ConfigError

_DESCRIPTION = """\
Measure what models cost at inference, for the report.

Writes cost.json into the folder of every configuration: seconds for the test split, and
multiply-accumulate operations of matrix products per graph."""


def main(argv: Sequence[str] | None = None) -> None:
    """Measures the models of folders of results."""
    parser = make_parser('cost', _DESCRIPTION, 'results/gin_counting results/nc_counting')
    parser.add_argument('folders', nargs='+', type=Path, help='of configurations, or of sweeps')
    args = parser.parse_args(argv)
    try:
        for folder in _runs(args.folders):
            print(measure_folder(folder))
    except (ConfigError, OSError) as error:
        sys.exit(f'{parser.prog}: {error}')


def _runs(folders: Sequence[Path]) -> list[Path]:
    """The folders of configurations: those named, and those in sweeps. All else is left out,
    such as the tables of a sweep.

    Raises:
        FileNotFoundError: If there is none.
    """
    runs: list[Path] = []
    for folder in folders:
        paths = [folder / 'config.yaml']
        if not paths[0].is_file():
            paths = sorted(folder.glob('*/config.yaml'))
        runs += [path.parent for path in paths]
    if not runs:
        names = ', '.join(f"'{folder}'" for folder in folders)
        raise FileNotFoundError(f'there is no config.yaml in {names}: name folders of results')
    return runs
