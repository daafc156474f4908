"""Writes what WL algorithms and networks tell apart, as a table and a plot.

python run/expressiveness.py [--brec DIR] [--trained FILE.jsonl] [--out DIR]
"""

import argparse
import sys
from pathlib import Path

from tqdm import tqdm

from graphgym_nc.wl.brec import load_brec
from graphgym_nc.wl.brec_results import read_scores
from graphgym_nc.wl.expressiveness import add_trained, expressiveness, methods, to_markdown
from graphgym_nc.wl.plot import plot_expressiveness, save


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--brec', metavar='DIR', help="the folder of BREC's .npy files")
    parser.add_argument('--trained', metavar='FILE.jsonl', help='results of run/brec.py to add')
    parser.add_argument('--out', metavar='DIR', type=Path, default=Path('results/expressiveness'))
    parser.add_argument('--seed', type=int, default=0, help='of the random weights')
    args = parser.parse_args()
    if args.trained and not args.brec:
        parser.error("'--trained' needs '--brec'")
    try:
        brec = load_brec(args.brec) if args.brec else None
        trained = read_scores(args.trained) if args.trained else None
    except (OSError, ValueError) as error:
        parser.error(str(error))

    table = expressiveness(
        methods(args.seed), brec, lambda pairs, what: tqdm(pairs, desc=what, leave=False)
    )
    if trained is not None:
        protocol, scores = trained
        table = add_trained(table, protocol.model, scores)
    args.out.mkdir(parents=True, exist_ok=True)
    table.to_csv(args.out / 'expressiveness.csv')
    markdown = to_markdown(table)
    (args.out / 'expressiveness.md').write_text(markdown)
    save(plot_expressiveness(table), args.out / 'expressiveness.png')
    print(markdown)
    print(f'written to {args.out}/expressiveness.{{md,csv,png}}')
    return 0


if __name__ == '__main__':
    sys.exit(main())
