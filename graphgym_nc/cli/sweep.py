"""``graphgym-nc sweep``: a grid, all its jobs, and their tables."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from graphgym_nc.cli.parser import make_parser
from graphgym_nc.sweeps.errors import GridError
from graphgym_nc.sweeps.sweep import run_sweep
from graphgym_nc.utils.packaged import ListPackaged, packaged_config, packaged_grid

_DESCRIPTION = """\
Train all configurations of a grid, each with several seeds, and aggregate the results.

Pairs KEY VALUE at the end hold for all of them. Started again, it runs what is not done."""

#: Arguments that are settings of SLURM, with what they mean.
_SLURM = {
    'partition': 'the partition',
    'account': 'the account',
    'qos': 'the quality of service',
    'constraint': 'the features that a node must have',
    'time': "what a task may take at a time: minutes, or SLURM's D-HH:MM:SS (default: 60)",
    'gpus': 'GPUs of a node (default: 0)',
    'cpus': 'cores for each device (default: 1)',
    'mem': 'memory of a node, such as 16G',
    'array_parallelism': 'how many tasks at a time (default: 256)',
}


#: What runs one job.
TRAIN = (sys.executable, '-m', 'graphgym_nc.cli', 'train')


def main(argv: Sequence[str] | None = None, command: Sequence[str] = TRAIN) -> int:
    """Runs a sweep.

    Args:
        argv: The arguments.
        command: The words of the command that runs one job, Python first.

    Returns:
        0 if all jobs are DONE, 1 if any failed, 2 if something else is wrong,
        such as the grid or the disk, 128 and the signal if there was one.
    """
    args = parse_args(argv)
    try:
        own = (sys.executable, str(args.script)) if args.script else command
        return run_sweep(args, own)
    except (GridError, OSError) as error:
        print(f'sweep: {error}', file=sys.stderr)
        return 2


def parse_args(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Parses the arguments.

    Returns:
        The arguments; those of SLURM as a dictionary :obj:`slurm`, and pairs of
        keys and values as :obj:`opts`.
    """
    parser = make_parser('sweep', _DESCRIPTION, 'smoke --repeat 2 --jobs 2')
    parser.add_argument(
        'grid', type=packaged_grid, help='the grid: a file, or the name of a packaged one'
    )
    parser.add_argument('--list', action=ListPackaged, const='grids')
    parser.add_argument(
        '--config',
        type=packaged_config,
        help="the base configuration (default: the grid's '# config:' lines)",
    )
    parser.add_argument('--repeat', type=_positive, default=1, help='the number of seeds')
    parser.add_argument(
        '--sample', type=_positive, help='draw that many configurations (always the same)'
    )
    parser.add_argument(
        '--compare',
        type=lambda text: text.split(','),
        default=[],
        metavar='ALIAS,...',
        help='with --sample: for each of these, that many settings with all of its choices',
    )
    parser.add_argument('--dry-run', action='store_true', help='list the jobs, and run none')
    parser.add_argument(
        '--status', action='store_true', help='what of the grid is done, running, pending, failed'
    )
    parser.add_argument(
        '--script',
        type=Path,
        help='a main of your own for the jobs, such as one that registers modules and then calls '
        'graphgym_nc.cli.train.main',
    )
    parser.add_argument('--launcher', choices=('local', 'slurm'), default='local')
    local = parser.add_argument_group('on this machine')
    local.add_argument(
        '--jobs', type=_positive, help='how many at a time (default: one per GPU; one on the CPU)'
    )
    local.add_argument('--retry', type=int, help='how often to retry a failed job (default: 0)')
    slurm = parser.add_argument_group('on a cluster (--launcher slurm)')
    slurm.add_argument(
        '--wait', action='store_true', help='wait for the jobs; exit 1 if any fails'
    )
    slurm.add_argument(
        '--prepare', action='store_true', help='prepare the data here, not in the first task'
    )
    slurm.add_argument('--site', type=Path, help='a YAML file with settings of the site')
    for name, text in _SLURM.items():
        slurm.add_argument(f'--{name.replace("_", "-")}', help=text)
    args, opts = parser.parse_known_args(argv)
    for option in opts:
        if option.startswith('--'):
            parser.error(f"there is no option '{option}'")
    if args.compare and not args.sample:
        parser.error('--compare needs --sample')
    args.opts = opts
    args.slurm = {name: getattr(args, name) for name in _SLURM}
    _refuse_of_other_launcher(parser, args)
    return args


def _refuse_of_other_launcher(parser: argparse.ArgumentParser, args: argparse.Namespace) -> None:
    local = {'jobs': args.jobs, 'retry': args.retry}
    slurm = {'wait': args.wait, 'prepare': args.prepare, 'site': args.site, **args.slurm}
    for name, value in (local if args.launcher == 'slurm' else slurm).items():
        if value not in (None, False):
            other = 'local' if args.launcher == 'slurm' else 'slurm'
            parser.error(f'--{name.replace("_", "-")} is for --launcher {other}')


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f'{value} is not at least 1')
    return value
