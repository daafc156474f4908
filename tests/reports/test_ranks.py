import matplotlib.image
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
    assert frame.loc[4].tolist() == ['act', 'tanh', '1.50 of 3', 2, 'yes']


@pytest.mark.parametrize('number', [1, 2])
def test_plot(tmp_path, number):
    path = tmp_path / 'plots' / 'ranks.png'
    plot_ranks(rank_analysis(GRID)[:number], path)
    image = matplotlib.image.imread(path)
    assert image.shape[0] > 300
    assert image.std() > 0.05  # something is drawn
