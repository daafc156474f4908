"""Command line: ``graphgym-nc wl FILE.g6``."""

import argparse
import os
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path

from torch import Tensor

from graphgym_nc.cli.parser import make_parser
from graphgym_nc.wl.graph6 import graph6_lines
from graphgym_nc.wl.isomorphism import (
    ALGORITHMS,
    Algorithm,
    color_refinement,
    colorings,
    distinguishes,
    undistinguished_pairs,
    wl_classes,
)

_DESCRIPTION = """\
Tell graphs apart by colour refinement.

Of a file of several graphs, prints the classes of graphs that are not told apart. Of two graphs
(two lines, or two files of one line each), prints whether they are told apart."""

_MAX_PAIRS = 1000


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line and returns its exit code."""
    args = _parser().parse_args(argv)
    try:
        for line in _run(args):
            print(line)
    except (MemoryError, OSError, ValueError) as error:
        if isinstance(error, BrokenPipeError):  # the reader has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        print(f'error: {_message(error)}', file=sys.stderr)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = make_parser('wl', _DESCRIPTION, 'two.g6 --trace --plot two.png')
    parser.add_argument('files', nargs='+', metavar='FILE.g6', help='one graph6 string per line')
    parser.add_argument('--algorithm', choices=ALGORITHMS, default='nc-1-wl')
    parser.add_argument(
        '--trace', action='store_true', help='of two graphs: print the colours per iteration'
    )
    parser.add_argument(
        '--plot', metavar='FILE.png', help='of two graphs: draw them in their stable colours'
    )
    return parser


def _run(args: argparse.Namespace) -> Iterator[str]:
    graphs, names = [], []
    for path in args.files:
        lines = list(graph6_lines(path))
        if not lines:
            raise ValueError(f'{path} holds no graph')
        where = f'{path}, ' if len(args.files) > 1 else ''
        graphs += [line for _, line in lines]
        names += [f'{where}line {number}' for number, _ in lines]

    if len(graphs) != 2:
        if args.trace or args.plot:
            raise ValueError(f"'--trace' and '--plot' are for two graphs (got {len(graphs)})")
        yield from _classes(graphs, names, args.algorithm)
        return
    if args.trace:
        yield from _trace(graphs, names, args.algorithm)
    verdict = _verdict(graphs, args.algorithm)
    yield verdict
    if args.plot:
        _plot(graphs, names, args.algorithm, verdict, Path(args.plot))


def _classes(graphs: list[str], names: list[str], algorithm: Algorithm) -> Iterator[str]:
    classes = wl_classes(graphs, algorithm)
    members: dict[int, list[str]] = defaultdict(list)
    for name, number in zip(names, classes, strict=True):
        members[number].append(name)
    yield f'{len(graphs)} graphs, {len(members)} classes under {algorithm}'
    for number, group in members.items():
        yield f'class {number}: {"; ".join(group)}'

    total = undistinguished_pairs(classes)
    yield f'{total} undistinguished pairs'
    pairs = (pair for group in members.values() for pair in combinations(group, 2))
    for _, (first, second) in zip(range(_MAX_PAIRS), pairs, strict=False):
        yield f'{first} and {second}'
    if total > _MAX_PAIRS:
        yield f'... and {total - _MAX_PAIRS} more'


def _verdict(graphs: list[str], algorithm: Algorithm) -> str:
    g, h = graphs
    _, iteration = distinguishes(g, h, algorithm, return_iteration=True)
    if iteration is None:
        return f'{algorithm} does not distinguish the graphs'
    when = 'by their initial colours' if iteration == 0 else f'after iteration {iteration}'
    return f'{algorithm} distinguishes the graphs, {when}'


def _trace(graphs: list[str], names: list[str], algorithm: Algorithm) -> Iterator[str]:
    for iteration, coloring in enumerate(colorings(graphs, algorithm)):
        yield f'iteration {iteration}'
        for name, color in zip(names, coloring.colors, strict=True):
            if color.ndim == 1:
                groups: dict[int, list[int]] = defaultdict(list)
                for node, number in enumerate(color.tolist()):
                    groups[number].append(node)
                text = '  '.join(f'{c}: {groups[c]}' for c in sorted(groups))
            else:
                counts = sorted(Counter(color.ravel().tolist()).items())
                text = '  '.join(f'{c}: {number} triples' for c, number in counts)
            yield f'  {name}   {text}'


def _plot(
    graphs: list[str], names: list[str], algorithm: Algorithm, verdict: str, path: Path
) -> None:
    from graphgym_nc.utils.render import save_figure
    from graphgym_nc.wl.plot import plot_pair

    colors: list[Tensor] = color_refinement(graphs, algorithm)
    save_figure(plot_pair(graphs, colors, names, verdict), path)


def _message(error: BaseException) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f'{error.filename}: {error.strerror}'
    return str(error)
