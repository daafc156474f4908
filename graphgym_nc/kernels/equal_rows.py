"""Rows that are the same, and edges whose ends are, on the CPU."""

import numpy as np

from graphgym_nc.kernels.graphs import Array, compiled

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # odd, with bits all over: 2^64 over the golden ratio
_HALF = np.uint64(32)


@compiled
def equal_rows(rows: Array, number: Array, limit: int) -> int:
    """Numbers rows so that equal ones have the same number, by a hash table with a
    comparison of whatever it finds.

    Args:
        rows: Any rows of integers, of shape :obj:`[n, width]`.
        number: Takes the number of every row, of shape :obj:`[n]`.
        limit: How many different rows to look for.

    Returns:
        How many different rows there are, or more than :obj:`limit` if so many were
        found that the rest was not looked at.
    """
    slots = 1
    while slots < 2 * (limit + 1):
        slots *= 2
    table = np.full(slots, -1, np.int64)
    first = np.empty(limit + 1, np.int64)
    found = 0
    for i in range(rows.shape[0]):
        hashed = np.uint64(0)
        for value in rows[i]:
            hashed = (hashed ^ np.uint64(value)) * _MULTIPLIER
        slot = np.int64(hashed >> _HALF) & (slots - 1)
        while table[slot] >= 0 and (rows[first[table[slot]]] != rows[i]).any():
            slot = (slot + 1) & (slots - 1)
        if table[slot] < 0:
            table[slot], first[found] = found, i
            found += 1
            if found > limit:
                break
        number[i] = table[slot]
    return found


@compiled
def merge_edges(ends: Array, number: Array, numbers: int, merged: Array) -> int:
    """Numbers edges so that those whose ends have the same two numbers are one.

    Args:
        ends: The two ends of every edge, of shape :obj:`[m, 2]`.
        number: A number for each node, less than :obj:`numbers`.
        numbers: How many there are.
        merged: Takes the number of every edge, of shape :obj:`[m]`.

    Returns:
        How many numbers there are.
    """
    table = np.full((numbers, numbers), -1, merged.dtype)
    found = 0
    for e in range(merged.size):
        a, b = number[ends[e, 0]], number[ends[e, 1]]
        low, high = min(a, b), max(a, b)
        if table[low, high] < 0:
            table[low, high] = found
            found += 1
        merged[e] = table[low, high]
    return found
