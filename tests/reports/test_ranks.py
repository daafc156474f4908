import math

import pytest

from graphgym_nc.reports.ranks import Scored, plot_ranks, rank_analysis, rank_table


def runs(*rows):
    return [Scored({'l': layers, 'act': act}, score) for layers, act, score in rows]


GRID = runs(
    (2, 'relu', 0.5), (2, 'elu', 0.6), (2, 'tanh', 0.7),
    (10, 'relu', 0.9), (10, 'elu', 0.8), (10, 'tanh', 0.8),
)  # fmt: skip


def test_ranks_by_hand():
    layers, act = rank_analysis(GRID)
    assert (layers.alias, layers.matched) == ('l', True)
    assert layers.ranks == {'2': [2, 2, 2], '10': [1, 1, 1]}  # in order of numbers
    assert act.ranks == {'elu': [2, 2], 'relu': [3, 1], 'tanh': [1, 2]}
    assert act.averages == {'elu': 2, 'relu': 2, 'tanh': 1.5}


def test_ties():
    (_, act) = rank_analysis(GRID, tolerance=0.1001)
    assert act.ranks == {'elu': [1, 1], 'relu': [2, 1], 'tanh': [1, 1]}


def test_settings_without_all_choices_are_left_out():
    _, act = rank_analysis([*GRID, *runs((3, 'relu', 9), (3, 'elu', 8))])
    assert act.ranks == {'elu': [2, 2], 'relu': [3, 1], 'tanh': [1, 2]}


def test_unmatched_runs_are_ranked_among_all():
    layers, act = rank_analysis(runs((1, 'a', 0.9), (2, 'b', 0.5), (3, 'a', 0.1)))
    assert not layers.matched
    assert layers.ranks == {'1': [1], '2': [2], '3': [3]}
    assert act.ranks == {'a': [1, 2], 'b': [1]}  # the second of three is in the first half


def test_single_choices_are_no_dimension():
    assert [ranking.alias for ranking in rank_analysis(runs((1, 'a', 1), (2, 'a', 2)))] == ['l']
    assert rank_analysis([Scored({}, 1)]) == []


def test_a_dimension_of_one_block_only():
    rankings = rank_analysis([*GRID, Scored({'steps': [1]}, 1.0), Scored({'steps': [2]}, 2.0)])
    assert rankings[2].ranks == {'1': [2], '2': [1]}
    assert rankings[1].ranks == {'elu': [2, 2], 'relu': [3, 1], 'tanh': [1, 2]}


def test_table():
    frame = rank_table(rank_analysis(GRID))
    assert frame.loc[4].tolist() == ['act', 'tanh', '1.50 ± 0.50 of 3', 2, 'yes', '-', '-']


def settings(*rows):
    """One setting for each row of ranks, the first choice's first."""
    return rank_analysis(
        [
            Scored({'layer': layer, 'setting': i}, -rank)
            for i, row in enumerate(rows)
            for layer, rank in enumerate(row)
        ]
    )[0]


def test_friedman_by_hand():
    """Sums of ranks are 5, 10 and 15 in 5 settings of 3 choices: 12 / (5 * 3 * 4) * (25 + 100 +
    225) - 3 * 5 * 4 = 10, of which chi-squared with 2 degrees of freedom has exp(-10 / 2).
    """
    ranking = settings(*[(1, 2, 3)] * 5)
    assert ranking.p_value == pytest.approx(math.exp(-5))
    # Demsar (2006) has q = 2.343 for three choices.
    assert ranking.critical_difference == pytest.approx(2.343 * math.sqrt(12 / 30), abs=1e-3)
    row = rank_table([ranking]).loc[0].tolist()
    assert row[2:] == ['1.00 ± 0.00 of 3', 5, 'yes', '0.0067', '1.48']


def test_ranks_without_a_winner_are_chance():
    turns = (1, 2, 3), (2, 3, 1), (3, 1, 2)
    assert settings(*turns, *turns).p_value == pytest.approx(1)
    assert settings(*[(1, 1, 1)] * 5).p_value == 1
    assert settings(*[(1, 1)] * 5).p_value == 1


def test_a_distance_follows_a_difference_between_several_choices():
    assert settings(*[(1, 2)] * 8).critical_difference is None  # the sign test has said it all
    turns = (1, 2, 3), (2, 3, 1), (3, 1, 2)
    assert settings(*turns, *turns).critical_difference is None
    tied = settings(*[(1, 2, 3)] * 5, (1, 2, 2))
    assert tied.p_value < 0.05
    assert tied.critical_difference is None  # their mean rank would be 2.5


def test_two_choices_have_the_sign_test():
    assert settings(*[(1, 2)] * 6).p_value == pytest.approx(2 / 2**6)
    assert settings(*[(1, 2)] * 6, (1, 1)).p_value == pytest.approx(2 / 2**6)  # a tie says nothing


def test_few_or_unmatched_settings_have_no_test():
    assert settings(*[(1, 2, 3)] * 4).p_value is None
    (layers, _) = rank_analysis(runs((1, 'a', 0.9), (2, 'b', 0.5), (3, 'a', 0.1)))
    assert layers.p_value is layers.critical_difference is None


@pytest.mark.parametrize('number', [1, 2])
def test_plot(tmp_path, figures, number):
    path = tmp_path / 'plots' / 'ranks.png'
    plot_ranks(rank_analysis(GRID)[:number], path)
    assert path.stat().st_size > 0
    axes = figures[0].axes
    assert [axis.get_title() for axis in axes] == [
        'l (matched settings: 3)', 'act (matched settings: 2)',
    ][:number]  # fmt: skip
    layers = axes[0]
    assert [label.get_text() for label in layers.get_yticklabels()] == ['2', '10']
    # How often each had rank 1, then how often rank 2: all ranks of 2 are 2, all of 10 are 1.
    bars = [(bar.get_x(), bar.get_width()) for bar in layers.patches]
    assert bars == [(0, 0), (0, 1), (0, 1), (1, 0)]
    assert [text.get_text() for text in layers.texts] == ['2.00', '1.00']
    assert [text.get_fontweight() for text in layers.texts] == ['normal', 'bold']
