"""``graphgym-nc data``: statistics of data sets on disk, beside those of the paper."""

import sys
from collections.abc import Sequence
from pathlib import Path

from graphgym_nc.cli.parser import make_parser
from graphgym_nc.reports.paper.published import STATISTICS
from graphgym_nc.reports.statistics import report_statistics

_DESCRIPTION = """\
Print statistics of data sets on disk, beside those of the paper.

Without names: all data sets of the paper that are in the folder. "Messages" are edges among the
neighbours of a node. With --sbm-graphs, so many training, validation and test graphs of PATTERN
and CLUSTER are drawn by the published recipe."""


def main(argv: Sequence[str] | None = None) -> None:
    """Prints and writes the statistics."""
    parser = make_parser('data', _DESCRIPTION, 'PATTERN CLUSTER --sbm-graphs 400 80 80')
    parser.add_argument('names', nargs='*', metavar='NAME', help=', '.join(STATISTICS))
    parser.add_argument('--dir', type=Path, default=Path('datasets'), help='default: datasets')
    parser.add_argument('--sbm-graphs', type=int, nargs=3, default=(), metavar='N')
    parser.add_argument('--out', type=Path, default=Path('results/dataset_stats.csv'))
    args = parser.parse_intermixed_args(argv)
    try:
        report_statistics(args.names, args.dir, args.sbm_graphs, args.out)
    except (OSError, ValueError) as error:
        sys.exit(f'{parser.prog}: {error}')
