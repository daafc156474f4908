"""``graphgym-nc report``: tables and plots of runs, of a grid, or of the paper."""

import sys
from collections.abc import Sequence
from pathlib import Path

from graphgym_nc.cli.parser import make_parser
from graphgym_nc.reports.paper.report import report_paper
from graphgym_nc.reports.report import report_grid, report_runs
from graphgym_nc.results.aggregate import seed_folders

_DESCRIPTION = """\
Write tables and plots of what has been run.

Of runs: their table and learning curves. Of a grid: its table, best first, and which choices
have the best ranks. With --paper: the paper's tables. They hold all that has been run of them,
wherever it lies in the folder of results, beside the published figures."""


def main(argv: Sequence[str] | None = None) -> None:
    """Writes a report."""
    parser = make_parser('report', _DESCRIPTION, 'results/gin_counting results/nc_counting')
    parser.add_argument('folders', nargs='*', type=Path, help='of configurations, or of a grid')
    parser.add_argument('--paper', action='store_true', help="the paper's tables")
    parser.add_argument(
        '--results', type=Path, default=Path('results'), help='with --paper (default: results)'
    )
    parser.add_argument('--out', type=Path, help='where to write (default: beside the runs)')
    parser.add_argument(
        '--ties',
        type=float,
        default=0.0,
        metavar='EPS',
        help='results of a grid that differ by no more share a rank (GraphGym: 0.02)',
    )
    args = parser.parse_args(argv)
    if args.paper == bool(args.folders):
        parser.error('name folders, or --paper')
    try:
        if args.paper:
            report_paper(args.results, args.out or args.results / 'paper')
        elif len(args.folders) == 1 and not seed_folders(args.folders[0]):
            report_grid(args.folders[0], args.out or args.folders[0], args.ties)
        else:
            report_runs(args.folders, args.out or args.folders[0].parent)
    except OSError as error:
        sys.exit(f'{parser.prog}: {error}')
