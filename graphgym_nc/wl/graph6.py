"""Reads graph6, the text form of undirected simple graphs."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import networkx as nx

_OTHER_FORMATS = {b':': 'sparse6', b';': 'incremental sparse6', b'&': 'digraph6'}


def decode_graph6(line: str | bytes) -> Any:
    """Decodes one graph6 string into a networkx graph.

    Raises:
        ValueError: If the string is not graph6.
    """
    text = line.encode() if isinstance(line, str) else line
    text = text.strip().removeprefix(b'>>graph6<<')
    if text[:1] in _OTHER_FORMATS:
        raise ValueError(f'this is {_OTHER_FORMATS[text[:1]]}, not graph6')
    for position, code in enumerate(text, start=1):
        if not 63 <= code <= 126:  # networkx takes some of them
            raise ValueError(
                f'byte {bytes([code])!r} at position {position} is not allowed in graph6 (allowed '
                f"are '?' to '~')"
            )
    try:
        return nx.from_graph6_bytes(text)
    except nx.NetworkXError as error:
        raise ValueError(str(error)) from error
    except IndexError:
        raise ValueError('the string ends within the number of nodes') from None


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
        text = line.strip().removeprefix(b'>>graph6<<')
        if not text:
            continue
        try:
            decode_graph6(text)
        except ValueError as error:
            raise ValueError(f'{path}, line {number}: {error}') from error
        yield number, text.decode('ascii')
