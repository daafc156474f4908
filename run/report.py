"""A table and the learning curves of runs: report.py results/A results/B [--out FOLDER]."""

import argparse
import sys
from pathlib import Path

from graphgym_nc.report import Run, markdown, plot_curves, table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('folders', nargs='+', type=Path, help='folders of configurations')
    parser.add_argument('--out', type=Path, help='where to write (default: beside the first)')
    args = parser.parse_args()
    try:
        runs = [Run.load(folder) for folder in args.folders]
    except FileNotFoundError as error:
        sys.exit(f'report.py: {error}')
    out = args.out or args.folders[0].parent
    out.mkdir(parents=True, exist_ok=True)
    frame = table(runs)
    text = markdown(frame)
    print(text)
    (out / 'report.md').write_text(text + '\n')
    frame.to_csv(out / 'report.csv', index=False)
    plot_curves(runs, out / 'report.png')
    print(f"\nTable and learning curves: '{out}/report.md', '.csv' and '.png'")


if __name__ == '__main__':
    main()
