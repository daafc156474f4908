"""``graphgym-nc ppa-like``: random graphs in the form of ogbg-ppa."""

import sys
from collections.abc import Sequence
from pathlib import Path

from graphgym_nc.benchmark.ppa_like import measure_ppa_like
from graphgym_nc.cli.parser import make_parser
from graphgym_nc.datasets.ppa_like import draw_ppa_like, save_ppa_like

_DESCRIPTION = """\
Write random graphs in the form of ogbg-ppa, and measure what it takes to load and use them.

OGB's own DatasetSaver writes the graphs to DATASETS/ogbg_ppa. A training with `dataset.dir
DATASETS` finds them there. With --measure, they are converted, loaded and gone through as in
training, and memory and time are reported."""


def main(argv: Sequence[str] | None = None) -> None:
    """Writes or measures the graphs."""
    parser = make_parser('ppa-like', _DESCRIPTION, 'datasets_like_ppa --graphs 3000 --measure')
    parser.add_argument('datasets', type=Path, metavar='DATASETS')
    parser.add_argument('--graphs', type=int, default=3000)
    parser.add_argument('--measure', action='store_true')
    args = parser.parse_args(argv)
    folder = args.datasets / 'ogbg_ppa'
    if not folder.exists():
        save_ppa_like(folder, draw_ppa_like(args.graphs))
        print(f"{args.graphs} graphs: '{folder}'")
    elif not args.measure:
        sys.exit(f"{parser.prog}: there is something in '{folder}' already")
    if args.measure:
        measure_ppa_like(args.datasets)
