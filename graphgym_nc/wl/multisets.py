"""Exact integer names for pairs, sequences and multisets of integers.

A colour refinement replaces signatures (nested multisets of colours) by new
colours. Here, the new colour of a signature is its rank among all signatures
that occur: equal signatures get equal numbers, different ones different
numbers, with certainty, and the numbers do not depend on the order of nodes or
graphs.
"""

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


def sequence_ids(values: Ints, lengths: Ints) -> Ints:
    r"""Numbers sequences of non-negative integers: equal numbers if and only if
    the sequences are equal.

    Neighbouring values are merged into the number of their pair until one
    value is left of every sequence. All sequences of one length shrink in the
    same way, so that they are equal as long as, and only if, their remainders
    are. This takes :math:`\log_2` of the longest length rounds, each on half
    of the values of the one before.

    Args:
        values: The sequences, one after the other.
        lengths: The length of every sequence.

    Returns:
        One number per sequence.
    """
    out = np.zeros(lengths.size, dtype=np.int64)
    sequence = np.flatnonzero(lengths)  # the sequences that are left,
    rest = lengths[sequence]  # and what is left of them
    while sequence.size > 0:
        done = rest == 1
        if done.any():
            start = np.cumsum(rest) - rest
            out[sequence[done]] = values[start[done]]
            values = values[np.repeat(~done, rest)]
            sequence, rest = sequence[~done], rest[~done]
            if sequence.size == 0:
                break
        values, rest = _merge_neighbours(values, rest)
    return pair_ids(lengths, out)


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
    if values.size == 0:
        return np.zeros(num_groups, dtype=np.int64)
    values = renumber(values)
    width = int(values.max()) + 1
    return _sorted_multiset_ids(np.sort(group * width + values), width, num_groups)


def row_multiset_ids(rows: Ints) -> Ints:
    """Numbers the rows of a matrix of non-negative integers as multisets."""
    num_rows, length = rows.shape
    if rows.size == 0:
        return np.zeros(num_rows, dtype=np.int64)
    width = int(rows.max()) + 1
    keys = np.sort(rows, axis=1) + width * np.arange(num_rows)[:, None]
    return _sorted_multiset_ids(keys.reshape(num_rows * length), width, num_rows)


def _sorted_multiset_ids(keys: Ints, width: int, num_groups: int) -> Ints:
    """Numbers multisets given as ascending keys :obj:`group * width + value`."""
    # Equal values of a multiset become one value with its multiplicity.
    start = np.flatnonzero(np.diff(keys, prepend=-1))
    keys, count = keys[start], np.diff(start, append=keys.size)
    group, values = np.divmod(keys, width)
    lengths = np.bincount(group, minlength=num_groups)
    return sequence_ids(pair_ids(values, count), lengths)


def _merge_neighbours(values: Ints, lengths: Ints) -> tuple[Ints, Ints]:
    """Halves sequences, merging values in pairs; a last odd one stays alone."""
    end = np.cumsum(lengths)
    half = (lengths + 1) // 2
    rank = np.arange(int(half.sum())) - np.repeat(np.cumsum(half) - half, half)
    left = np.repeat(end - lengths, half) + 2 * rank
    alone = left + 1 == np.repeat(end, half)
    # A 0 in place of no value cannot be mistaken: in all sequences of a length,
    # it is in the same place.
    right = np.where(alone, 0, values[np.minimum(left + 1, values.size - 1)])
    return pair_ids(values[left], right), half
