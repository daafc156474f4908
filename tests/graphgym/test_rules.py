import math

import pytest

from graphgym_nc.graphgym import rules


@pytest.mark.parametrize(
    ('rule', 'words', 'allowed', 'refused'),
    [
        (rules.integer(1), 'an integer from 1', [1, 2**32 - 1], [0, -1, 2**32]),
        (rules.integer(0, 15), 'an integer from 0 to 15', [0, 15], [-1, 16]),
        (rules.number(0, 1), 'a number from 0 to 1', [0, 0.5, 1], [-0.1, 1.1, math.nan]),
        (rules.above(0), 'a number above 0', [1e-9, 1e30], [0, -1, math.nan]),
        (rules.below_one(), 'a number from 0, below 1', [0, 0.99], [1, -0.1, math.nan]),
        (rules.each('two', rules.integer(1), int, 2), 'two', [[1, 2]], [[1], [0, 1], [1.0, 2]]),
        (rules.SHARES, 'two or three shares that add up to at most 1',
         [[0.8, 0.1, 0.1], [0.5, 0.5], [0.3, 0.3]], [[1], [0.9, 0.2], [0.5, 0], [0.5, True]]),
        (rules.SPLIT_MODE, rules.SPLIT_MODE.words,
         ['random', 'custom', 'cv-stratified-10', 'gin-folds', 'gin-folds-inner'],
         ['cv', 'gin', '', 'random-inner']),
    ],
)  # fmt: skip
def test_what_a_rule_allows(rule, words, allowed, refused):
    assert rule.words == words
    assert [value for value in [*allowed, *refused] if rule.holds(value)] == allowed


def test_names_are_looked_up_when_they_are_checked():
    names = {'one': 1}
    rule = rules.registered('a thing', names, 'default')
    assert rule.words == 'the name of a thing, or `default`'
    assert not rule.holds('two')
    names['two'] = 2
    assert rule.holds('two')
    assert rule.choices() == {'one', 'two', 'default'}
