"""``graphgym-nc bench``: what NC-GNN costs."""

from collections.abc import Sequence
from pathlib import Path

import torch

from graphgym_nc.benchmark.peers import CASES
from graphgym_nc.benchmark.suite import MEASURES, USUAL, Options, run_suite
from graphgym_nc.benchmark.workloads import WORKLOADS
from graphgym_nc.cli.parser import make_parser
from graphgym_nc.utils.memory import keep_freed_memory

_DESCRIPTION = """\
What NC-GNN costs, side by side with GIN in one process.

layer      one layer, forward and backward, as a multiple of PyG's GINConv
memory     its peak memory, likewise
launches   what it would launch on a GPU, counted without one, and what torch.compile makes of it
triangles  finding triangles, and building what the layers need of them
step       training steps through the runner, and where their time goes
accuracy   seconds of training until CLUSTER is at 58 % on validation
scaling    time and memory of a layer against the number of messages
equal      four layers with a row for every edge, or for edges that are equal (imdb, collab)
roofline   how near a layer comes to the peaks of the machine, which are measured, too
peers      all systems on the same batches, with about 100,000 parameters each: the time of a
           training step, peak memory and operations, as multiples of GIN's with our sum, and
           what it takes to prepare a graph; with --pairs, a plot of power against cost
sums       how near the sums of the lean layer come to what the processor can add up
triton     what compilers make of the kernels for GPUs: registers of a thread, bytes spilled,
           bytes of shared memory of a program (needs no GPU)

Without a name: layer, memory and triangles; on a GPU, all but equal and peers, after all paths
have been compared. Tables on the screen and, with plots, in --out."""


def main(argv: Sequence[str] | None = None) -> None:
    """Measures, and prints the tables."""
    workloads = [*dict.fromkeys([*WORKLOADS, *CASES])]
    parser = make_parser('bench', _DESCRIPTION, 'layer memory --workload pattern-70')
    add = parser.add_argument
    add('what', nargs='*', metavar='MEASUREMENT', help=', '.join(MEASURES))
    add(
        '--workload',
        nargs='+',
        choices=workloads,
        default=workloads,
        metavar='NAME',
        help=f'of those that need one: {", ".join(workloads)} (default: all)',
    )
    add('--device', choices=USUAL, default='cpu', help='where to measure (default: %(default)s)')
    add('--threads', type=int, default=torch.get_num_threads())
    add(
        '--allocator',
        choices=('kept', 'default'),
        default='kept',
        help="freed memory: kept, as in a training (default), or as is the C library's default",
    )
    add('--repeat', type=int, default=11, help='how often to measure (default: %(default)s)')
    add('--dir', type=Path, default=Path('datasets'), help='data sets (default: %(default)s)')
    add('--most', type=float, default=1e8, help='messages, for scaling (default: %(default)g)')
    add('--out', type=Path, default=Path('results/benchmark'), help='default: %(default)s')
    add(
        '--pairs',
        type=Path,
        metavar='FILE.csv',
        help='for peers: the table of graphgym-nc expressiveness --brec',
    )
    add('--json', type=Path, help='write all measurements to this file')
    args = parser.parse_args(argv)
    for name in args.what:
        if name not in MEASURES:
            parser.error(f"there is no '{name}': choose from {', '.join(MEASURES)}")
    if args.device == 'cuda' and not torch.cuda.is_available():
        parser.error("'--device cuda' needs a GPU, and torch finds none")
    if args.allocator == 'kept':
        keep_freed_memory()
    options = Options(
        args.workload, args.threads, args.repeat, args.dir, args.most, args.out, args.device,
        args.pairs,
    )  # fmt: skip
    run_suite(args.what or USUAL[args.device], options, args.json)
