"""Scores of grids in small files that outlive their folders, and what they say."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from graphgym_nc.reports.ranks import Scored, rank_analysis, rank_table
from graphgym_nc.reports.runs import Run, score
from graphgym_nc.results.record import read_record
from graphgym_nc.results.sweep import grid_runs
from graphgym_nc.utils.files import write_atomically
from graphgym_nc.utils.render import markdown

_CHOICE = 'choice.'  # in front of a dimension, as it may be called like a fact
_FILES = 'design_*.csv'


def diverged(folder: Path) -> dict[str, dict[str, Any]]:
    """The configurations of a grid of which a run diverged, and what was chosen for each."""
    return {
        name: entry.values
        for name, entry in grid_runs(folder).items()
        if any(
            'not finite' in str(read_record(folder / name / str(seed)).get('reason'))
            for seed in entry.seeds
        )
    }


def grid_scores(folder: Path, runs: Sequence[tuple[Run, dict[str, Any]]]) -> list[Scored]:
    """The scores of a grid. What diverged is worse than all else: if it were left out, choices
    that diverge would be compared in their good settings alone.
    """
    lost = diverged(folder)
    scores = [Scored(values, score(run)) for run, values in runs if run.name not in lost]
    return scores + [Scored(values, -math.inf) for values in lost.values()]


def keep_grid(folder: Path, runs: Sequence[tuple[Run, dict[str, Any]]], path: Path) -> None:
    """Writes the score of each configuration of a grid: none if it has no results."""
    done = {run.name: _facts(run) for run, _ in runs}
    done |= {name: {'score': '-inf'} for name in diverged(folder)}
    rows = []
    for name, entry in grid_runs(folder).items():
        row = {f'{_CHOICE}{alias}': json.dumps(value) for alias, value in entry.values.items()}
        rows.append({**row, **done.get(name, {'score': ''})})
    write_atomically(path, pd.DataFrame(rows, dtype=object).to_csv(index=False))


def read_grid(path: Path) -> tuple[list[Scored], pd.DataFrame]:
    """Reads what was kept of a grid: what an analysis by ranks needs, and all rows."""
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    columns = [str(column) for column in frame if str(column).startswith(_CHOICE)]
    scores = [
        Scored(
            {
                column.removeprefix(_CHOICE): json.loads(row[column])
                for column in columns
                if row[column]  # else its part of the grid has no such dimension
            },
            float(row['score']),
        )
        for row in frame.to_dict('records')
        if row['score']
    ]
    return scores, frame


def kept_ranks(folder: Path) -> str:
    """The ranks of all grids that were kept in a folder, as Markdown: those of choices that were
    compared with all else equal.
    """
    parts = []
    for path in sorted(folder.glob(_FILES)):
        scores, frame = read_grid(path)
        lost = (frame['score'] == '-inf').sum()
        done = frame[~frame['score'].isin(['', '-inf'])]
        rankings = [ranking for ranking in rank_analysis(scores) if ranking.matched]
        text = f'### `{path.stem}`\n\n{len(done)} of {len(frame)} configurations have results.'
        if len(done):
            text += (
                f' Folds or seeds of each: {_span(done["runs"])}, epochs: '
                f'{_span(done["epochs"])}, graphs: {_span(done["graphs"])}.'
            )
        if lost:
            text += f' {lost} diverged, and have the last rank.'
        parts.append(f'{text}\n\n{markdown(rank_table(rankings))}')
    return '\n\n'.join(parts) or 'Nothing has been run yet.'


def _facts(run: Run) -> dict[str, Any]:
    best = run.best['val']
    record = read_record(run.folder / str(best['seed_folders'][0]))
    return {
        'score': f'{score(run):.6g}',
        'metric': run.metric,
        'runs': best['seeds'],
        'epochs': max(row['epoch'] for curve in run.curves('train') for row in curve) + 1,
        'graphs': record.get('graphs', ''),
        'commit': record.get('commit', ''),
        'date': str(record.get('ended') or '')[:10],
    }


def _span(column: 'pd.Series[str]') -> str:
    values = sorted({value or '?' for value in column}, key=lambda value: (len(value), value))
    return values[0] if len(values) == 1 else f'{values[0]} to {values[-1]}'
