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
have the best ranks. With --paper: the paper's tables beside the published figures. They hold all
runs of them, wherever they lie in the folders."""


def main(argv: Sequence[str] | None = None) -> None:
    """Writes a report."""
    parser = make_parser('report', _DESCRIPTION, 'results/gin_counting results/nc_counting')
    parser.add_argument('folders', nargs='*', type=Path, help='of configurations, or of a grid')
    parser.add_argument(
        '--paper', action='store_true', help="the paper's tables (default folder: results)"
    )
    parser.add_argument(
        '--keep',
        type=Path,
        metavar='CSV',
        help='with --paper: a file that gets a row for each fold or seed, and loses none; without '
        'folders, the tables are of that file alone. Of a grid: a file for its scores',
    )
    parser.add_argument('--out', type=Path, help='where to write (default: beside the runs)')
    parser.add_argument(
        '--ties',
        type=float,
        metavar='EPS',
        help='results of a grid that differ by no more share a rank (GraphGym: 0.02)',
    )
    args = parser.parse_args(argv)
    if not args.paper and not args.folders:
        parser.error('name folders, or --paper')
    results = [Path('results')]
    try:
        grid = not args.paper and len(args.folders) == 1 and not seed_folders(args.folders[0])
        if args.keep and not args.paper and not grid:
            parser.error('--keep is for --paper, or for one grid')
        if args.ties is not None and not grid:
            parser.error('--ties is for one grid')
        if args.paper:
            folders = args.folders or ([] if args.keep else results)
            report_paper(folders, args.keep, args.out or results[0] / 'paper')
        elif grid:
            report_grid(args.folders[0], args.out or args.folders[0], args.ties or 0.0, args.keep)
        else:
            report_runs(args.folders, args.out or args.folders[0].parent)
    except (OSError, ValueError) as error:
        sys.exit(f'{parser.prog}: {error}')
