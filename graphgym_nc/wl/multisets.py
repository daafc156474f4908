"""Exact integer names for pairs and multisets of integers.

A colour refinement replaces signatures (nested multisets of colours) by new
colours. Here, the new colour of a signature is its rank among all signatures
that occur: equal signatures get equal numbers, different ones different
numbers, with certainty, and the numbers do not depend on the order of nodes or
graphs.
"""

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]

# Up to so many possible keys per key, a table is faster than a sort.
_TABLE_FACTOR = 8


def renumber(keys: Ints) -> Ints:
    """Replaces non-negative integers by their ranks among the distinct ones."""
    if keys.size == 0:
        return keys
    largest = int(keys.max())
    if largest < _TABLE_FACTOR * keys.size:
        present = np.zeros(largest + 1, dtype=np.int64)
        present[keys] = 1
        return (np.cumsum(present) - 1)[keys]
    return np.unique(keys, return_inverse=True)[1].reshape(keys.shape)


def pair_ids(first: Ints, second: Ints) -> Ints:
    """Numbers the pairs :obj:`(first[i], second[i])` of non-negative integers
    by their lexicographic rank.
    """
    if first.size == 0:
        return first
    width = int(second.max()) + 1
    if (int(first.max()) + 1) * width > np.iinfo(np.int64).max:
        # Ranks are below the number of pairs, so that their product fits.
        first, second = renumber(first), renumber(second)
        width = int(second.max()) + 1
    return renumber(first * width + second)


def multiset_ids(group: Ints, values: Ints, num_groups: int) -> Ints:
    """Numbers multisets of non-negative integers: equal numbers if and only if
    the multisets are equal.

    Args:
        group: The multiset that each value belongs to.
        values: The values, in any order.
        num_groups: The number of multisets, empty ones included.

    Returns:
        One number per multiset.
    """
    end = np.cumsum(np.bincount(group, minlength=num_groups))
    return _ranks(np.split(values[np.lexsort((values, group))], end)[:num_groups])


def row_multiset_ids(rows: Ints) -> Ints:
    """Numbers the rows of a matrix of non-negative integers as multisets."""
    return _ranks(np.sort(rows, axis=1))


def _ranks(sequences: Iterable[Ints]) -> Ints:
    """The ranks of sequences, in some fixed order."""
    names = [sequence.tobytes() for sequence in sequences]
    rank = {name: i for i, name in enumerate(sorted(set(names)))}
    return np.array([rank[name] for name in names], dtype=np.int64)
