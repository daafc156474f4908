"""Which choices of a grid are the good ones: GraphGym's analysis by ranks.

After `"Design Space for Graph Neural Networks"
<https://arxiv.org/abs/2011.08843>`_ (You, Ying and Leskovec, 2020).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from scipy import stats

from graphgym_nc.results.names import sort_key, value_name
from graphgym_nc.utils.render import save_figure

_COLUMNS = 3
_MAX_LABEL = 16

#: Fewer settings, if they are also less than half of all runs, are a matter of
#: chance, as in a sample that was not drawn for a comparison.
_FEWEST_SETTINGS = 5

#: Differences that are less likely by chance count.
_LEVEL = 0.05


@dataclass(frozen=True)
class Scored:
    """A configuration and its score.

    Attributes:
        values: What the grid chose for it, by alias.
        score: Its score, of which more is better.
    """

    values: dict[str, Any]
    score: float


@dataclass(frozen=True)
class Ranking:
    """The ranks of all choices of one design dimension, 1 being the best.

    Attributes:
        alias: The dimension.
        ranks: The ranks of each choice.
        matched: Whether choices are compared in settings that differ in nothing
            else. Otherwise, all runs are put in order and divided into as many
            equal parts as there are choices, and a rank is the part of a run.
    """

    alias: str
    ranks: dict[str, list[int]]
    matched: bool

    @property
    def averages(self) -> dict[str, float]:
        """The average rank of each choice."""
        return {choice: float(np.mean(ranks)) for choice, ranks in self.ranks.items()}

    @property
    def p_value(self) -> float | None:
        """How likely ranks as unlike as these are if the choice makes no difference: by
        Friedman's test, or by the sign test if there are but two choices. It asks for
        settings that differ in nothing else.
        """
        columns = np.array(list(self.ranks.values())) if self.matched else np.empty((0, 0))
        if columns.size == 0 or columns.shape[1] < _FEWEST_SETTINGS:
            return None
        if len(columns) == 2:
            wins, losses = (columns[0] < columns[1]).sum(), (columns[0] > columns[1]).sum()
            return float(stats.binomtest(wins, wins + losses).pvalue) if wins + losses else 1.0
        if (columns == columns[0]).all():
            return 1.0
        return float(stats.friedmanchisquare(*columns).pvalue)

    @property
    def critical_difference(self) -> float | None:
        """Two average ranks that are further apart differ by more than chance (p < 0.05), by
        Nemenyi's test. It follows a Friedman's test that has found a difference. Ties have to
        have their mean rank there, and have the lowest one here: with them, there is none.
        """
        choices = len(self.ranks)
        if self.p_value is None or self.p_value >= _LEVEL or choices == 2:
            return None
        columns = np.array(list(self.ranks.values()))
        if (columns.sum(axis=0) != choices * (choices + 1) / 2).any():
            return None
        q = stats.studentized_range.ppf(1 - _LEVEL, choices, np.inf) / np.sqrt(2)
        return float(q * np.sqrt(choices * (choices + 1) / (6 * columns.shape[1])))


def rank_analysis(runs: Sequence[Scored], tolerance: float = 0.0) -> list[Ranking]:
    """Ranks the choices of every dimension that has more than one.

    Args:
        runs: The runs.
        tolerance: Scores that differ by no more are equal, and share a rank.
    """
    aliases = dict.fromkeys(alias for run in runs for alias in run.values)
    rankings = (_rank(runs, alias, tolerance) for alias in aliases)
    return [ranking for ranking in rankings if len(ranking.ranks) > 1]


def rank_table(rankings: Sequence[Ranking]) -> pd.DataFrame:
    """The average rank of every choice, its spread (one deviation), and whether differences
    are more than chance.
    """
    return pd.DataFrame(
        {
            'dimension': ranking.alias,
            'choice': choice,
            'average rank': f'{np.mean(ranks):.2f} ± {np.std(ranks):.2f} of {len(ranking.ranks)}',
            'comparisons': len(ranks),
            'all else equal': 'yes' if ranking.matched else 'no',
            'p': _known(ranking.p_value, '.2g'),
            'differs if apart by': _known(ranking.critical_difference, '.2f'),
        }
        for ranking in rankings
        for choice, ranks in ranking.ranks.items()
    )


def plot_ranks(rankings: Sequence[Ranking], path: Path) -> None:
    """Draws, for every choice, how often it came first, second and so on, and
    its average rank.
    """
    columns = min(_COLUMNS, len(rankings))
    rows = -(-len(rankings) // columns)
    most = max(len(ranking.ranks) for ranking in rankings)
    colors = colormaps['viridis'](np.linspace(0.9, 0.1, most))
    size = max(4.6 * columns, 6.5), rows * (1.3 + 0.34 * most) + 0.5
    figure = Figure(figsize=size, layout='constrained')
    for i, ranking in enumerate(rankings, start=1):
        _draw(figure.add_subplot(rows, columns, i), ranking, colors)
    figure.legend(
        [Patch(color=color) for color in colors],
        [f'rank {rank}' for rank in range(1, most + 1)],
        loc='outside lower center',
        ncols=min(most, 6),
    )
    figure.suptitle('Average rank of each choice on validation, and how often it had which rank')
    save_figure(figure, path)


def _draw(axis: Any, ranking: Ranking, colors: Any) -> None:
    labels = [_short(choice) for choice in ranking.ranks]
    heights = np.arange(len(labels))
    left = np.zeros(len(labels))
    for rank in range(1, len(labels) + 1):
        shares = np.array([np.mean(np.array(r) == rank) for r in ranking.ranks.values()])
        axis.barh(heights, shares, left=left, color=colors[rank - 1], height=0.7)
        left += shares
    best = min(ranking.averages.values())
    for height, average in zip(heights, ranking.averages.values(), strict=True):
        weight = 'bold' if average == best else 'normal'
        axis.text(1.02, height, f'{average:.2f}', va='center', fontweight=weight)
    axis.set_yticks(heights, labels)
    axis.invert_yaxis()
    axis.set_xlim(0, 1.16)
    axis.set_xticks([0, 0.5, 1], ['0 %', '50 %', '100 %'])
    axis.spines[['top', 'right']].set_visible(False)
    number = sum(map(len, ranking.ranks.values()))
    settings = number // len(labels)
    kind = f'matched settings: {settings}' if ranking.matched else f'unmatched runs: {number}'
    axis.set_title(f'{ranking.alias} ({kind})', fontsize=10)


def _rank(runs: Sequence[Scored], alias: str, tolerance: float) -> Ranking:
    runs = [run for run in runs if alias in run.values]
    choices = {value_name(run.values[alias]): run.values[alias] for run in runs}
    names = sorted(choices, key=lambda name: sort_key(choices[name]))
    ranks: dict[str, list[int]] = {name: [] for name in names}

    settings: dict[tuple[tuple[str, str], ...], dict[str, float]] = {}
    for run in runs:
        chosen = {key: value_name(value) for key, value in run.values.items()}
        choice = chosen.pop(alias)
        settings.setdefault(tuple(chosen.items()), {})[choice] = run.score
    complete = [scores for scores in settings.values() if len(scores) == len(names)]
    if len(complete) < _FEWEST_SETTINGS and 2 * len(complete) * len(names) < len(runs):
        complete = []
    for scores in complete:
        for choice, score in scores.items():
            ranks[choice].append(_position(score, scores.values(), tolerance))
    if not complete:
        everyone = [run.score for run in runs]
        for run in runs:
            better = _position(run.score, everyone, tolerance) - 1
            ranks[value_name(run.values[alias])].append(1 + better * len(names) // len(runs))
    return Ranking(alias, ranks, matched=bool(complete))


def _position(score: float, scores: Iterable[float], tolerance: float) -> int:
    """One more than the number of better scores."""
    return 1 + sum(other > score + tolerance for other in scores)


def _known(value: float | None, form: str) -> str:
    return '-' if value is None else f'{value:{form}}'


def _short(label: str) -> str:
    half = _MAX_LABEL // 2
    return label if len(label) <= _MAX_LABEL else f'{label[:half]}…{label[1 - half :]}'
