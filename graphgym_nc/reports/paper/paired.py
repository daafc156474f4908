"""Whether NC-GNN is ahead of GIN by more than chance: tests over the same folds."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy import stats

from graphgym_nc.reports.paper.runs import INNER, METRICS, PaperRun, percent
from graphgym_nc.reports.paper.tables import fullest, twin

#: With fewer pairs, Wilcoxon's test cannot find a difference at this level.
LEVEL, FEWEST = 0.05, 6

#: What the table says.
RULE = (
    'Both models have the same folds, so their differences on each fold are tested. '
    "Student's paired t-test is for the mean difference. Wilcoxon's signed-rank test does not "
    'need differences to be normal. Here it is exact, and leaves out folds without a difference. '
    f'NC-GNN is *ahead* or *behind* if both have p < {LEVEL}; '
    'else there is *no difference*. Training sets of folds overlap, so p values are somewhat '
    'too small. On TUDatasets, the epoch of each model was chosen on the very folds that are '
    f'tested. With fewer than {FEWEST} pairs, there is no test. No correction is made for '
    'the number of rows.'
)


def paired_test(ours: Sequence[float], other: Sequence[float]) -> tuple[float, float, str]:
    """Compares figures of the same folds, of which more is better.

    Returns:
        The p values of the paired t-test and of Wilcoxon's test, and the verdict.
    """
    difference = np.subtract(ours, other)
    if len(difference) < FEWEST:
        return np.nan, np.nan, f'no test: {len(difference)} pairs'
    if np.ptp(difference) < 1e-9:  # no variance: scipy divides by it
        t = float(abs(difference[0]) < 1e-9)
    else:
        t = float(stats.ttest_rel(ours, other).pvalue)
    wilcoxon = _wilcoxon(difference.round(9))  # equal differences are ties
    if max(t, wilcoxon) >= LEVEL:
        return t, wilcoxon, 'no difference'
    return t, wilcoxon, 'ahead' if difference.mean() > 0 else 'behind'


def paired_table(runs: Sequence[PaperRun]) -> pd.DataFrame:
    """NC-GNN beside GIN, on the folds or seeds that both have."""
    rows = []
    measured = [run for run in runs if not run.summary]
    for run in fullest(measured):
        other = twin(run, measured) if run.model == 'NC-GNN' else None
        if other is None or run.table == INNER:  # that only chooses
            continue
        ours, theirs = _by_number(run), _by_number(other)
        shared = sorted(ours.keys() & theirs.keys())
        if not shared:
            continue
        factor = percent(run.experiment.table)
        sign = -factor if METRICS[run.experiment.table] == 'mae' else factor
        t, wilcoxon, verdict = paired_test(
            [sign * ours[key] for key in shared], [sign * theirs[key] for key in shared]
        )
        gains = np.array([sign * (ours[key] - theirs[key]) for key in shared])
        digits = 4 if factor == 1 else 2
        rows.append(
            {
                'data': run.experiment.name,
                'NC-GNN': f'`{run.config}`' + (f', {run.changed}' if run.changed else ''),
                'GIN': f'`{other.config}`',
                'pairs': f'{len(shared)} {run.unit}',
                'gain': f'{gains.mean():+.{digits}f} ± {gains.std():.{digits}f}',
                'p, t-test': _p(t),
                'p, Wilcoxon': _p(wilcoxon),
                'NC-GNN is': verdict,
                'scale': run.scale,
            }
        )
    return pd.DataFrame(rows)


def _wilcoxon(difference: np.ndarray) -> float:
    """The p value of Wilcoxon's signed-rank test, over all signs that the differences might have
    had. Versions of scipy do not agree if some are zero or equal.
    """
    difference = difference[difference != 0]
    ranks = (2 * stats.rankdata(abs(difference))).astype(int)  # those of ties are halves
    ways = np.ones(1)  # to get each sum of the ranks above zero
    for rank in ranks:
        ways = np.convolve(ways, [1, *[0] * (rank - 1), 1])
    above = ranks[difference > 0].sum()
    tail = min(ways[above:].sum(), ways[: above + 1].sum())
    return float(min(1.0, 2 * tail / ways.sum()))


def _by_number(run: PaperRun) -> dict[int, float]:
    return {row.run or 0: value for row, value in zip(run.rows, run.values, strict=True)}


def _p(value: float) -> str:
    return '-' if np.isnan(value) else '< 0.001' if value < 0.001 else f'{value:.3f}'
