"""Reads graph6, the text form of undirected simple graphs.

See https://users.cecs.anu.edu.au/~bdm/data/formats.txt for its definition.
"""

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import numpy as np

from graphgym_nc.wl.multisets import Ints

_HEADER = b'>>graph6<<'
_OTHER_FORMATS = {b':': 'sparse6', b';': 'incremental sparse6', b'&': 'digraph6'}


def decode_graph6(line: str | bytes) -> tuple[Ints, int]:
    """Decodes one graph6 string.

    Returns:
        The edges :math:`(u, v)` with :math:`u < v`, of shape :obj:`[2, m]`,
        and the number of nodes.

    Raises:
        ValueError: If the string is not graph6.
    """
    text = line.encode('utf-8') if isinstance(line, str) else line
    text = text.strip().removeprefix(_HEADER)
    if not text:
        raise ValueError('an empty line is no graph6 string')
    if text[:1] in _OTHER_FORMATS:
        raise ValueError(f'this is {_OTHER_FORMATS[text[:1]]}, not graph6')
    code = np.frombuffer(text, dtype=np.uint8).astype(np.int64) - 63
    outside = np.flatnonzero((code < 0) | (code > 63))
    if outside.size > 0:
        position = int(outside[0])
        raise ValueError(
            f'byte {text[position : position + 1]!r} at position {position + 1} is not allowed '
            f"in graph6 (allowed are '?' to '~')"
        )

    num_nodes, used = _decode_size(code)
    num_pairs = num_nodes * (num_nodes - 1) // 2
    expected = -(-num_pairs // 6)
    code = code[used:]
    if code.size != expected:
        raise ValueError(
            f'a graph6 string of {num_nodes} nodes has {used + expected} characters '
            f'(got {used + code.size})'
        )
    bits = ((code[:, None] >> np.arange(5, -1, -1)) & 1).ravel()
    if bits[num_pairs:].any():
        raise ValueError('the bits that pad the last character must be zero')
    return _pairs(num_nodes)[:, np.flatnonzero(bits[:num_pairs])], num_nodes


def read_graph6(path: str | Path) -> list[str]:
    """Reads a file of one graph6 string per line; empty lines are skipped.

    Raises:
        OSError: If the file cannot be read.
        ValueError: If a line is not graph6, naming the file and the line.
    """
    return [line for _, line in graph6_lines(path)]


def graph6_lines(path: str | Path) -> Iterator[tuple[int, str]]:
    """As :meth:`read_graph6`, with the number of every line."""
    for number, line in enumerate(Path(path).read_bytes().splitlines(), start=1):
        text = line.strip().removeprefix(_HEADER)
        if not text:
            continue
        try:
            decode_graph6(text)
        except ValueError as error:
            raise ValueError(f'{path}, line {number}: {error}') from error
        yield number, text.decode('ascii')


def _decode_size(code: Ints) -> tuple[int, int]:
    """The number of nodes, and of the characters that give it."""
    if code[0] < 63:
        return int(code[0]), 1
    skip, digits = (1, 3) if code.size < 2 or code[1] < 63 else (2, 6)
    value = code[skip : skip + digits]
    if value.size < digits:
        raise ValueError('the string ends within the number of nodes')
    return int((value << (6 * np.arange(digits - 1, -1, -1))).sum()), skip + digits


@lru_cache(maxsize=4)
def _pairs(num_nodes: int) -> Ints:
    """All pairs u < v in the order of graph6: by v, then by u."""
    v = np.repeat(np.arange(num_nodes), np.arange(num_nodes))
    u = np.arange(v.size) - v * (v - 1) // 2
    return np.stack([u, v])
