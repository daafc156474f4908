import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

kernel = pytest.importorskip('graphgym_nc.kernels.equal_rows')

ROWS = st.integers(0, 4).flatmap(
    lambda width: st.lists(st.lists(st.integers(-2, 2), min_size=width, max_size=width))
)


def numbers(rows: list[list[int]]) -> list[int]:
    known: dict[tuple[int, ...], int] = {}
    return [known.setdefault(tuple(row), len(known)) for row in rows]


@given(ROWS)
def test_equal_rows(rows):
    array = np.array(rows, np.int32).reshape(len(rows), -1) if rows else np.empty((0, 3), np.int32)
    number = np.empty(len(rows), np.int32)
    assert kernel.equal_rows(array, number, 100) == len({tuple(row) for row in rows})
    assert number.tolist() == numbers(rows)


def test_rows_that_share_a_slot_are_compared():
    rows = np.arange(300, dtype=np.int32).repeat(2)[:, None]  # in a table of 1024
    number = np.empty(600, np.int32)
    assert kernel.equal_rows(rows, number, 300) == 300
    assert number.tolist() == rows[:, 0].tolist()


def test_too_many_different_rows():
    rows = np.arange(10, dtype=np.int32)[:, None]
    assert kernel.equal_rows(rows, np.empty(10, np.int32), 4) == 5


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4))))
def test_merge_edges(edges):
    number = np.array([0, 2, 2, 1, 0], np.int32)
    ends, merged = np.array(edges, np.int32).reshape(-1, 2), np.empty(len(edges), np.int32)
    unordered = [sorted((int(number[u]), int(number[v]))) for u, v in edges]
    assert kernel.merge_edges(ends, number, 3, merged) == len(set(map(tuple, unordered)))
    assert merged.tolist() == numbers(unordered)
