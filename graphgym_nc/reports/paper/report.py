"""The page of the paper's tables: a template, filled with what was kept of runs."""

import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import pandas as pd

from graphgym_nc.reports.grids import kept_ranks
from graphgym_nc.reports.paper import paired, verdict
from graphgym_nc.reports.paper.keep import keep_runs
from graphgym_nc.reports.paper.kept import Curve, Row, curves_path, merge, read_kept, write_kept
from graphgym_nc.reports.paper.plot import plot_curves, plot_results, plotted, with_curves
from graphgym_nc.reports.paper.runs import PaperRun, group
from graphgym_nc.reports.paper.tables import (
    TITLES,
    cost_table,
    figure,
    fullest,
    inner_table,
    result_table,
    target_table,
)
from graphgym_nc.utils.render import markdown

#: What is written, below the folder for it.
PAGE, IMAGES = 'RESULTS.md', Path('docs', 'images')

_FIELD = re.compile(r'\{(\w+)(?: (\w+))?\}')

#: Fields of a template beside the tables.
_OTHERS = ('targets', 'inner', 'paired', 'cost')


def report_paper(folders: Sequence[Path], keep: Path | None, out: Path) -> None:
    """Writes the paper's tables and plots, with what was kept and with runs in folders.

    Args:
        folders: Folders with runs, at any depth.
        keep: The file of what was kept, which gets these runs. Beside it may lie a template.
        out: Where to write.

    Raises:
        FileNotFoundError: If there is nothing to report.
        ValueError: If what was kept cannot be read, or does not go together.
    """
    new, new_curves, others = keep_runs(folders)
    rows = merge(read_kept(keep, Row) if keep else [], new)
    curves = merge(read_kept(curves_path(keep), Curve) if keep else [], new_curves)
    if not rows:
        found = ''.join(f'\n  {reason}' for reason in others)
        places = ', '.join(f"'{folder}'" for folder in folders)
        raise FileNotFoundError(f'there is no finished run of the paper in {places}{found}')
    runs = group(rows)
    if keep and new:
        write_kept(keep, rows)
        write_kept(curves_path(keep), curves)
        print(f"{len(new)} folds or seeds are in '{keep}'")
    out.mkdir(parents=True, exist_ok=True)
    (out / PAGE).write_text(page(runs, curves, keep))
    for name in TITLES:
        plot_results(name, runs, out / IMAGES / f'results_{name}.png')
        plot_curves(name, runs, curves, out / IMAGES / f'curves_{name}.png')
    print(f"Tables: '{out / PAGE}', and plots in '{out / IMAGES}'")
    for reason in others:
        print(f'Not in the tables: {reason}')


def page(runs: Sequence[PaperRun], curves: Sequence[Curve], keep: Path | None) -> str:
    """The page, from the template beside what was kept if there is one.

    Raises:
        ValueError: Naming a field of the template that there is not.
    """
    template = keep.with_name('RESULTS.in') if keep else None
    text = template.read_text() if template and template.exists() else _default_template()

    def fill(match: re.Match[str]) -> str:
        try:
            write = _field(match[1], match[2], runs, curves, keep)
        except KeyError:
            raise ValueError(f"{template}: there is no field '{match[0]}'") from None
        return write()

    return re.sub(r'\n{3,}', '\n\n', _FIELD.sub(fill, text))


def _field(
    kind: str,
    name: str | None,
    runs: Sequence[PaperRun],
    curves: Sequence[Curve],
    keep: Path | None,
) -> Callable[[], str]:
    """What writes a field.

    Raises:
        KeyError: If there is no such field.
    """
    if kind == 'figure':
        nearest = sorted(fullest(runs), key=lambda run: -len(run.changed))
        run = {run.config: run for run in nearest}[str(name)]
        return lambda: figure(run)
    if kind == 'rule':
        rule = {'verdict': verdict.RULE, 'paired': paired.RULE}[str(name)]
        return lambda: rule
    if kind == 'ranks' and keep:
        return partial(kept_ranks, keep.parent)
    if kind == 'plot':
        what, _, table = str(name).partition('_')
        picture = f'![{TITLES[table]}]({IMAGES.as_posix()}/{name}.png)'
        shown = {
            'results': lambda: plotted(table, runs),
            'curves': lambda: with_curves(table, runs, curves),
        }[what]
        return lambda: picture if shown() else ''
    if kind != 'table':
        raise KeyError(kind)
    others = (target_table, inner_table, paired.paired_table, cost_table)
    tables = dict(zip(_OTHERS, others, strict=True))
    tables |= {table: partial(result_table, table) for table in TITLES}
    make = tables[str(name)]
    return lambda: _table(make(runs))


def _table(frame: pd.DataFrame) -> str:
    return 'Nothing has been run yet.' if frame.empty else markdown(frame)


def _default_template() -> str:
    parts = [
        f'## {title}\n\n{{table {name}}}\n\n{{plot results_{name}}}\n\n{{plot curves_{name}}}'
        for name, title in TITLES.items()
    ]
    parts.append('## Counting other subgraphs: test MAE\n\n{table targets}')
    parts.append('## NC-GNN beside GIN\n\n{table paired}\n\n{rule paired}')
    parts.append('## Cost, measured here\n\n{table cost}')
    return '# Results\n\n{rule verdict}\n\n' + '\n\n'.join(parts) + '\n'
