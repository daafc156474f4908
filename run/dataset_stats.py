"""Statistics of data sets on disk, beside those of the paper.

python run/dataset_stats.py [--dir DATASETS] [--sbm-graphs N N N] [--out FILE.csv] [NAME ...]

Without names: all data sets of the paper that are in the folder. "Messages" are edges among the
neighbours of a node. With --sbm-graphs, so many training, validation and test graphs of PATTERN
and CLUSTER are drawn by the published recipe.
"""

import argparse
import sys
from pathlib import Path

from graphgym_nc.reports.paper.published import STATISTICS
from graphgym_nc.reports.runs import markdown
from graphgym_nc.reports.statistics import Measured, frame, is_on_disk, load, measure, table


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument('names', nargs='*', metavar='NAME', help=', '.join(STATISTICS))
    parser.add_argument('--dir', type=Path, default=Path('datasets'), help='default: datasets')
    parser.add_argument('--sbm-graphs', type=int, nargs=3, default=(), metavar='N')
    parser.add_argument('--out', type=Path, default=Path('results/dataset_stats.csv'))
    args = parser.parse_intermixed_args()
    names = args.names or [
        name
        for name in STATISTICS
        if is_on_disk(args.dir, name) or (args.sbm_graphs and name in ('PATTERN', 'CLUSTER'))
    ]
    measured: dict[str, Measured] = {}
    try:
        for name in names:
            measured[name] = measure(load(args.dir, name, args.sbm_graphs), name)
    except (OSError, ValueError) as error:
        sys.exit(f'dataset_stats.py: {error}')
    if not measured:
        sys.exit(f"dataset_stats.py: there is no data set of the paper in '{args.dir}'")
    print(markdown(table(measured)))
    absent = [name for name in STATISTICS if name not in measured]
    if absent and not args.names:
        print(f"\nNot in '{args.dir}': {', '.join(absent)}")
    args.out.parent.mkdir(parents=True, exist_ok=True)
    frame(measured).to_csv(args.out, index=False)
    print(f"\nUnrounded: '{args.out}'")


if __name__ == '__main__':
    main()
