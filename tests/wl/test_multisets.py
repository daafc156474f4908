from collections import Counter

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from graphgym_nc.wl.multisets import (
    multiset_ids,
    pair_ids,
    renumber,
    row_multiset_ids,
)
from tests.wl.naive import same_partition

small = st.integers(0, 3)
large = st.one_of(small, st.integers(0, 2**62))


def ints(values):
    return np.array(values, dtype=np.int64)


@given(st.lists(large))
def test_renumber_ranks(values):
    ranks = {value: rank for rank, value in enumerate(sorted(set(values)))}
    assert renumber(ints(values)).tolist() == [ranks[value] for value in values]


@given(st.lists(st.tuples(large, large)))
def test_pair_ids_rank_lexicographically(pairs):
    ranks = {pair: rank for rank, pair in enumerate(sorted(set(pairs)))}
    first, second = ints(pairs).reshape(-1, 2).T
    assert pair_ids(first, second).tolist() == [ranks[pair] for pair in pairs]


@given(st.lists(st.lists(large, max_size=9)), st.randoms())
def test_multiset_ids_are_equal_iff_multisets_are(multisets, random):
    entries = [(i, value) for i, values in enumerate(multisets) for value in values]
    random.shuffle(entries)
    group, values = ints(entries).reshape(-1, 2).T
    ids = multiset_ids(group, values, len(multisets))
    counters = [frozenset(Counter(values).items()) for values in multisets]
    assert same_partition(ids.tolist(), counters)


@given(st.integers(0, 5).flatmap(lambda n: st.lists(st.lists(small, min_size=n, max_size=n))))
def test_row_multiset_ids_are_equal_iff_rows_are_up_to_order(rows):
    matrix = ints(rows).reshape(len(rows), -1 if rows and rows[0] else 0)
    ids = row_multiset_ids(matrix)
    assert same_partition(ids.tolist(), [tuple(sorted(row)) for row in rows])


@pytest.mark.parametrize(
    ('first', 'second'),
    [
        ([1, 1, 2], [1, 2, 2]),  # the same set
        ([0, 0], [0, 0, 0]),  # of the same values, of another size
        ([1, 2, 3, 4], [1, 4, 2, 2]),  # the same sum
        ([], [0]),
    ],
)
def test_multisets_that_are_easily_confused(first, second):
    group = ints([0] * len(first) + [1] * len(second))
    assert len(set(multiset_ids(group, ints(first + second), 2).tolist())) == 2


def test_ids_do_not_depend_on_the_order_of_the_multisets():
    values = ints([3, 1, 1, 3, 7, 7, 7, 2])
    group = ints([0, 0, 1, 1, 2, 2, 2, 3])
    ids = multiset_ids(group, values, 4)
    assert multiset_ids(3 - group, values, 4).tolist() == ids[::-1].tolist()
