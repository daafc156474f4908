"""``graphgym-nc expressiveness``: what WL algorithms and networks tell apart."""

from collections.abc import Sequence
from pathlib import Path

from tqdm import tqdm

from graphgym_nc.cli.parser import make_parser
from graphgym_nc.utils.render import save_figure
from graphgym_nc.wl.brec import load_brec
from graphgym_nc.wl.brec_results import read_scores
from graphgym_nc.wl.expressiveness import (
    add_trained,
    expressiveness,
    methods,
    random_network,
    to_markdown,
)
from graphgym_nc.wl.graph6 import read_graph6
from graphgym_nc.wl.graphs import GraphLike
from graphgym_nc.wl.networks import NETWORKS
from graphgym_nc.wl.plot import plot_expressiveness


def main(argv: Sequence[str] | None = None) -> None:
    """Writes a table and a plot."""
    parser = make_parser(
        'expressiveness',
        'Write what WL algorithms and networks tell apart, as a table and a plot.',
        '--brec datasets/BREC --trained results/brec_nc.jsonl',
    )
    parser.add_argument(
        '--network', metavar='NAME', nargs='+', choices=NETWORKS, default=[],
        help='only networks of these names, with random weights; default: all of '
        + ', '.join(NETWORKS) + ', and the algorithms',
    )  # fmt: skip
    parser.add_argument(
        '--graphs', metavar='FILE.g6', help='print how many classes of these graphs are told apart'
    )
    parser.add_argument('--brec', metavar='DIR', help="the folder of BREC's .npy files")
    parser.add_argument(
        '--trained', metavar='FILE.jsonl', help='results of graphgym-nc brec to add'
    )
    parser.add_argument('--out', metavar='DIR', type=Path, default=Path('results/expressiveness'))
    parser.add_argument('--seed', type=int, default=0, help='of the random weights')
    args = parser.parse_args(argv)
    if args.trained and not args.brec:
        parser.error("'--trained' needs '--brec'")
    if args.graphs and args.brec:
        parser.error("'--graphs' and '--brec' are for two calls")
    try:
        brec = load_brec(args.brec) if args.brec else None
        trained = read_scores(args.trained) if args.trained else None
        graphs: list[GraphLike] = [*read_graph6(args.graphs)] if args.graphs else []
    except (OSError, ValueError) as error:
        parser.error(str(error))
    chosen = [random_network(name, args.seed) for name in args.network] or methods(args.seed)
    if args.graphs:
        for method in chosen:
            number = len(set(method.classes(graphs)))
            print(f'{method.name}: {number} classes of {len(graphs)} graphs')
        return

    table = expressiveness(chosen, brec, lambda pairs, what: tqdm(pairs, desc=what, leave=False))
    if trained is not None:
        protocol, scores = trained
        table = add_trained(table, protocol.model, scores)
    args.out.mkdir(parents=True, exist_ok=True)
    table.to_csv(args.out / 'expressiveness.csv')
    markdown = to_markdown(table)
    (args.out / 'expressiveness.md').write_text(markdown + '\n')
    save_figure(plot_expressiveness(table), args.out / 'expressiveness.png')
    print(f'{markdown}\n\nTable and plot: {args.out}/expressiveness.{{md,csv,png}}')
