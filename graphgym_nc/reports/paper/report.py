"""The report of the paper's tables."""

from pathlib import Path

from graphgym_nc.reports.paper.plot import plot_results, plot_times
from graphgym_nc.reports.paper.runs import find_runs
from graphgym_nc.reports.paper.tables import TITLES, result_table, time_table
from graphgym_nc.reports.report import write_report
from graphgym_nc.utils.render import markdown


def report_paper(results: Path, out: Path) -> None:
    """Writes the paper's tables, with all runs of them in a folder."""
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
    write_report(out, '\n\n'.join(parts))
    print(f"\nTables: '{out}/report.md', and each as '.csv' and '.png'")
