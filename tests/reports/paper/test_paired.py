import itertools
import math

import numpy as np
import pytest

from graphgym_nc.reports.paper.paired import paired_table, paired_test
from graphgym_nc.reports.paper.runs import group
from tests.reports.paper.test_runs import CLUSTER, PROTEINS, replace, seeds

OTHER = [70.0, 71.0, 72.0, 73.0, 74.0, 75.0, 76.0, 77.0, 78.0, 79.0]


def test_by_hand():
    """Differences 1 to 10: t = 5.5 / (3.0277 / sqrt(10)) = 5.7446 with 9 degrees of freedom,
    and all signs alike have 2 of the 2 ** 10 assignments.
    """
    ours = [value + i for i, value in enumerate(OTHER, start=1)]
    t, wilcoxon, verdict = paired_test(ours, OTHER)
    assert t == pytest.approx(2 * student_tail(5.74456, 9), rel=1e-3)
    assert wilcoxon == pytest.approx(2 / 2**10)
    assert verdict == 'ahead'
    assert paired_test(OTHER, ours)[2] == 'behind'


def student_tail(t, degrees):
    """The integral of Student's density from t on, by the trapezoidal rule."""
    x = np.linspace(t, t + 2000, 2_000_001)
    scale = math.gamma((degrees + 1) / 2) / math.gamma(degrees / 2) / math.sqrt(math.pi * degrees)
    return scale * np.trapezoid((1 + x**2 / degrees) ** (-(degrees + 1) / 2), x)


def test_noise_is_no_difference():
    ours = [value + (-1) ** i for i, value in enumerate(OTHER)]
    assert paired_test(ours, OTHER)[2] == 'no difference'


def test_both_tests_have_to_agree():
    """One large outlier hides a difference from the t-test, but not from Wilcoxon's."""
    ours = [*(value + 0.1 + i / 100 for i, value in enumerate(OTHER[:9])), OTHER[9] + 30]
    t, wilcoxon, verdict = paired_test(ours, OTHER)
    assert wilcoxon < 0.05 < t
    assert verdict == 'no difference'


def test_equal_and_constant_differences():
    assert paired_test(OTHER, OTHER) == (1.0, 1.0, 'no difference')
    t, wilcoxon, verdict = paired_test([value + 1 for value in OTHER], OTHER)
    assert (t, verdict) == (0.0, 'ahead')
    assert wilcoxon < 0.05


def test_zeros_say_nothing():
    """All of five differences are above zero: 2 of 2 ** 5 assignments are like that."""
    ours = [*(value + i for i, value in enumerate(OTHER[:6]))]
    t, wilcoxon, verdict = paired_test(ours, OTHER[:6])
    assert t < 0.05
    assert (wilcoxon, verdict) == (0.0625, 'no difference')


@pytest.mark.parametrize(
    'difference',
    [
        [1, -2, 3, 4, 5, 6, -7],
        [1, 1, 1, -1, 2, 2, 3],
        [0, 0, 1, -1, 2, 2, 3, 3],
        [0, 1, -1, 1, 2, 2, -2, 3, 3, 4, 5, -5, 6, 7, 8],
    ],
)
def test_wilcoxon_by_all_signs(difference):
    """The sum of signed ranks, for each way to choose the signs."""
    kept = np.array([value for value in difference if value])
    sizes = abs(kept)
    ranks = [(sizes < size).sum() + ((sizes == size).sum() + 1) / 2 for size in sizes]
    sums = [abs(np.dot(ranks, signs)) for signs in itertools.product([-1, 1], repeat=len(kept))]
    expected = np.mean(np.array(sums) >= abs(np.dot(ranks, np.sign(kept))))
    assert paired_test(difference, [0] * len(difference))[1] == pytest.approx(expected)


def test_few_pairs_are_not_tested():
    t, wilcoxon, verdict = paired_test([2.0] * 5, [1.0] * 5)
    assert math.isnan(t)
    assert math.isnan(wilcoxon)
    assert verdict == 'no test: 5 pairs'


def rows(config, gains, row=PROTEINS):
    return [
        replace(row, config=config, run=i, shared_val=0.7 + gain, test=0.7 + gain)
        for i, gain in enumerate(gains)
    ]


def test_table():
    gains = [0.01 * i for i in range(1, 11)]
    frame = paired_table(group([*rows('gin_proteins', [0.0] * 10), *rows('nc_proteins', gains)]))
    (line,) = frame.to_dict('records')
    assert (line['data'], line['NC-GNN'], line['GIN']) == (
        'PROTEINS', '`nc_proteins`', '`gin_proteins`',
    )  # fmt: skip
    assert (line['pairs'], line['NC-GNN is'], line['scale']) == ('10 folds', 'ahead', 'full')
    assert line['gain'] == '+5.50 ± 2.87'  # of 1 to 10: sqrt(8.25)
    assert (line['p, t-test'], line['p, Wilcoxon']) == ('< 0.001', '0.002')


def test_folds_are_paired_by_their_number():
    gin, nc = rows('gin_proteins', [0.0] * 10), rows('nc_proteins', [0.01] * 10)
    frame = paired_table(group([*gin[2:], *nc[:7]]))
    assert frame['pairs'].tolist() == ['5 folds']
    assert frame['NC-GNN is'].tolist() == ['no test: 5 pairs']
    assert frame['scale'].tolist() == ['reduced']


def test_errors_count_the_other_way():
    keys = {'row': replace(CLUSTER, metric='mae')}
    frame = paired_table(
        group([*rows('gin_counting', [0.01] * 6, **keys), *rows('nc_counting', [0.0] * 6, **keys)])
    )
    assert frame['gain'].tolist() == ['+0.0100 ± 0.0000']
    assert frame['NC-GNN is'].tolist() == ['ahead']


def test_summaries_are_not_tested():
    summary = replace(PROTEINS, kind='summary', run=None, runs=10, std=0.01)
    gin = replace(summary, config='gin_proteins')
    assert paired_table(group([summary, gin])).empty
    assert paired_table(group([gin, *seeds(PROTEINS, 10)])).empty
