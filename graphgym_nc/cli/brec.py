"""``graphgym-nc brec``: trains a network on BREC's pairs."""

import sys
from collections.abc import Sequence
from dataclasses import fields

import torch
from tqdm import tqdm

from graphgym_nc.cli.parser import make_parser
from graphgym_nc.wl.brec import CATEGORIES, load_brec
from graphgym_nc.wl.brec_results import ResultLog, evaluate
from graphgym_nc.wl.brec_training import Protocol

_DESCRIPTION = """\
Train a network on BREC's pairs, one after the other, and test which of them it tells apart.

Started again, it goes on where it was stopped."""


def main(argv: Sequence[str] | None = None) -> int:
    """Trains and tests, and returns the exit code."""
    parser = make_parser('brec', _DESCRIPTION, 'datasets/BREC --model nc')
    parser.add_argument('brec', metavar='DIR', help="the folder of BREC's .npy files")
    parser.add_argument('--out', metavar='FILE.jsonl', help='default: results/brec_<model>.jsonl')
    files = [category.file for category in CATEGORIES]
    parser.add_argument('--categories', nargs='+', choices=files, default=files)
    parser.add_argument('--threads', type=int, default=1, help='small graphs gain from one alone')
    settings = parser.add_argument_group('protocol')
    for field in fields(Protocol):
        settings.add_argument(
            '--' + field.name.replace('_', '-'),
            type=type(field.default),
            help=f'default: {field.default}, or what the authors of the model take',
        )
    args = parser.parse_args(argv)
    torch.set_num_threads(args.threads)

    try:
        given = {field.name: getattr(args, field.name) for field in fields(Protocol)}
        protocol = Protocol.of(**{name: v for name, v in given.items() if v is not None})
        brec = load_brec(args.brec)
        log = ResultLog(args.out or f'results/brec_{protocol.model}.jsonl', protocol, brec)
    except (OSError, ValueError) as error:
        parser.error(str(error))
    keys = [(file, i) for file in args.categories for i in range(len(brec[file]))]
    todo = [key for key in keys if key not in log.results]
    with tqdm(total=len(keys), initial=len(keys) - len(todo), unit='pair') as bar:
        try:
            for file, _ in evaluate(brec, log, todo):
                bar.set_description(file)
                bar.update()
        except KeyboardInterrupt:
            print(f'stopped; start again to go on from {log.path}', file=sys.stderr)
            return 130
    for file, score in log.scores().items():
        print(
            f'{file}: {score.parted} of {score.tested} told apart, {score.unreliable} unreliable'
        )
    return 0
