"""``graphgym-nc cost``: what models cost at inference."""

import sys
from collections.abc import Sequence
from pathlib import Path

from graphgym_nc.benchmark.cost import measure_folder
from graphgym_nc.cli.parser import make_parser
from graphgym_nc.graphgym.validation import ConfigError

_DESCRIPTION = """\
Measure what models cost at inference, for the report.

Writes cost.json into every folder: seconds for the test split, and multiply-accumulate operations
of matrix products per graph."""


def main(argv: Sequence[str] | None = None) -> None:
    """Measures the models of folders of results."""
    parser = make_parser('cost', _DESCRIPTION, 'results/gin_counting results/nc_counting')
    parser.add_argument('folders', nargs='+', type=Path, help='of configurations')
    args = parser.parse_args(argv)
    try:
        for folder in args.folders:
            print(measure_folder(folder))
    except (ConfigError, OSError) as error:
        sys.exit(f'{parser.prog}: {error}')
