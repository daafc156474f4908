"""The reports of runs and of grids: a table as Markdown and CSV, and plots."""

from pathlib import Path

from graphgym_nc.reports.grids import diverged, grid_scores, keep_grid
from graphgym_nc.reports.ranks import plot_ranks, rank_analysis, rank_table
from graphgym_nc.reports.runs import Run, grid_table, load_grid, plot_curves, table
from graphgym_nc.utils.render import markdown


def report_runs(folders: list[Path], out: Path) -> None:
    """Writes the table and the learning curves of runs."""
    runs = [Run.load(folder) for folder in folders]
    frame = table(runs)
    write_report(out, markdown(frame))
    frame.to_csv(out / 'report.csv', index=False)
    plot_curves(runs, out / 'report.png')
    print(f"\nTable and learning curves: '{out}/report.md', '.csv' and '.png'")


def report_grid(folder: Path, out: Path, ties: float, keep: Path | None = None) -> None:
    """Writes the table of a grid, and the ranks of its choices.

    Args:
        folder: The folder of the results.
        out: Where to write.
        ties: Results that differ by no more share a rank.
        keep: A file for the scores of all runs, which :meth:`report_paper` ranks.
    """
    runs = load_grid(folder)
    if keep:
        keep_grid(folder, runs, keep)
    frame = grid_table(runs)
    rankings = rank_analysis(grid_scores(folder, runs), ties)
    text = markdown(frame)
    if rankings:
        text += f'\n\n{markdown(rank_table(rankings))}'
        if lost := diverged(folder):
            text += f'\n\n{len(lost)} configuration(s) diverged, and have the last rank.'
    incomplete = folder / 'agg' / 'incomplete.csv'
    if incomplete.exists():
        text += f"\n\nNot all runs are DONE, and so not in the tables: see '{incomplete}'."
    write_report(out, text)
    frame.to_csv(out / 'report.csv', index=False)
    print(f"\nTable: '{out}/report.md' and '.csv'")
    if rankings:
        rank_table(rankings).to_csv(out / 'ranks.csv', index=False)
        plot_ranks(rankings, out / 'ranks.png')
        print(f"Ranks: '{out}/ranks.csv' and '.png'")


def write_report(out: Path, text: str) -> None:
    """Prints a report, and writes it to :obj:`report.md`."""
    out.mkdir(parents=True, exist_ok=True)
    print(text)
    (out / 'report.md').write_text(text + '\n')
