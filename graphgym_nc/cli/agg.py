"""``graphgym-nc agg``: the tables of a grid, or of one configuration."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from graphgym_nc.cli.parser import make_parser
from graphgym_nc.results.aggregate import AggError, agg_runs, seed_folders
from graphgym_nc.results.sweep import agg_sweep, incomplete_seeds


def main(argv: Sequence[str] | None = None) -> None:
    """Writes the tables."""
    parser = make_parser(
        'agg', 'Write the tables of a grid or of one configuration.', '--dir results/nc_cluster'
    )
    parser.add_argument('--dir', type=Path, required=True, help='the folder of results')
    parser.add_argument(
        '--metric', help='chooses the epoch, instead of the metric that the runs recorded'
    )
    parser.add_argument(
        '--minimise', action=argparse.BooleanOptionalAction, help='whether less of it is better'
    )
    args = parser.parse_args(argv)
    try:
        seeds = [int(path.name) for path in seed_folders(args.dir)]
        if seeds:
            incomplete = incomplete_seeds(args.dir, seeds, trusted=args.metric is not None)
            agg_runs(args.dir, args.metric, args.minimise)
        else:
            incomplete = agg_sweep(args.dir, args.metric, args.minimise)
    except (AggError, OSError) as error:
        sys.exit(f'{parser.prog}: {error}')
    for run in incomplete:
        print(f'Not in the tables: {run}', file=sys.stderr)
    print(f"Tables: '{args.dir / 'agg'}'")
