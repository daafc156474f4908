"""Tables and plots of runs, or of a grid: report.py results/A [results/B ...] [--out FOLDER].

Of runs: their table and learning curves. Of a grid: its table, best first, and which choices have
the best ranks.

report.py --paper [--results FOLDER] [--out FOLDER]: the paper's tables, with all that has been run
of them, wherever it lies in the folder of results, beside the published figures.
"""

import argparse
import sys
from pathlib import Path

from graphgym_nc.reports.paper.plot import plot_results, plot_times
from graphgym_nc.reports.paper.runs import find_runs
from graphgym_nc.reports.paper.tables import TITLES, result_table, time_table
from graphgym_nc.reports.ranks import plot_ranks, rank_analysis, rank_table
from graphgym_nc.reports.runs import (
    Run,
    grid_table,
    load_grid,
    markdown,
    plot_curves,
    scored,
    table,
)
from graphgym_nc.results.aggregate import seed_folders


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
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
    args = parser.parse_args()
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
        sys.exit(f'report.py: {error}')


def report_runs(folders: list[Path], out: Path) -> None:
    runs = [Run.load(folder) for folder in folders]
    frame = table(runs)
    write(out, markdown(frame))
    frame.to_csv(out / 'report.csv', index=False)
    plot_curves(runs, out / 'report.png')
    print(f"\nTable and learning curves: '{out}/report.md', '.csv' and '.png'")


def report_grid(folder: Path, out: Path, ties: float) -> None:
    runs = load_grid(folder)
    frame = grid_table(runs)
    rankings = rank_analysis(scored(runs), ties)
    text = markdown(frame)
    if rankings:
        text += f'\n\n{markdown(rank_table(rankings))}'
    incomplete = folder / 'agg' / 'incomplete.csv'
    if incomplete.exists():
        text += f"\n\nNot all runs are DONE, and so not in the tables: see '{incomplete}'."
    write(out, text)
    frame.to_csv(out / 'report.csv', index=False)
    print(f"\nTable: '{out}/report.md' and '.csv'")
    if rankings:
        rank_table(rankings).to_csv(out / 'ranks.csv', index=False)
        plot_ranks(rankings, out / 'ranks.png')
        print(f"Ranks: '{out}/ranks.csv' and '.png'")


def report_paper(results: Path, out: Path) -> None:
    runs, others = find_runs(results)
    if not runs:
        found = ''.join(f'\n  {reason}' for reason in others)
        raise FileNotFoundError(f"there is no finished run of the paper's in '{results}'{found}")
    out.mkdir(parents=True, exist_ok=True)
    parts = []
    for name, title in TITLES.items():
        ours = [run for run in runs if run.experiment.table == name]
        frame = result_table(name, ours)
        frame.to_csv(out / f'{name}.csv', index=False)
        parts.append(f'## {title}\n\n{markdown(frame)}')
        if ours:
            plot_results(name, ours, out / f'{name}.png')
    frame = time_table(runs)
    frame.to_csv(out / 'time.csv', index=False)
    plot_times(runs, out / 'time.png')
    parts.append(f'## Cost, measured here (CPU or GPU as it says)\n\n{markdown(frame)}')
    if others:
        parts.append('Not in the tables:\n\n' + '\n'.join(f'- {reason}' for reason in others))
    write(out, '\n\n'.join(parts))
    print(f"\nTables: '{out}/report.md', and each as '.csv' and '.png'")


def write(out: Path, text: str) -> None:
    out.mkdir(parents=True, exist_ok=True)
    print(text)
    (out / 'report.md').write_text(text + '\n')


if __name__ == '__main__':
    main()
