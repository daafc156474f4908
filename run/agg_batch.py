"""The tables of a grid, or of one configuration: agg_batch.py --dir results/FOLDER."""

import argparse
import sys
from pathlib import Path

from graphgym_nc.results.aggregate import AggError, agg_runs, seed_folders
from graphgym_nc.results.sweep import agg_batch, incomplete_seeds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--dir', type=Path, required=True, help='the folder of results')
    parser.add_argument(
        '--metric', help='chooses the epoch, instead of the metric that the runs recorded'
    )
    parser.add_argument(
        '--minimise', action=argparse.BooleanOptionalAction, help='whether less of it is better'
    )
    args = parser.parse_args()
    try:
        seeds = [int(path.name) for path in seed_folders(args.dir)]
        if seeds:
            incomplete = incomplete_seeds(args.dir, seeds, trusted=args.metric is not None)
            agg_runs(args.dir, args.metric, args.minimise)
        else:
            incomplete = agg_batch(args.dir, args.metric, args.minimise)
    except (AggError, OSError) as error:
        sys.exit(f'agg_batch.py: {error}')
    for run in incomplete:
        print(f'Not in the tables: {run}', file=sys.stderr)
    print(f"Tables: '{args.dir / 'agg'}'")


if __name__ == '__main__':
    main()
