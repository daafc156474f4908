"""The command ``graphgym-nc``.

It stands beside the package, because importing :obj:`graphgym_nc` loads torch. Help needs no
torch, and OpenMP reads its settings when torch is loaded.
"""

import argparse
import os
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import version

#: Every command with what it does. The module of the same name in ``graphgym_nc.cli`` runs it.
COMMANDS = {
    'train': 'train one configuration, or check it, or evaluate a saved model',
    'sweep': 'train all configurations of a grid, here or on SLURM',
    'agg': 'write the tables of a configuration or of a grid',
    'report': 'write a report with plots of runs, of a grid or of the paper',
    'configs': 'write the configurations of a grid, or list the packaged ones',
    'data': 'print statistics of data sets, beside those of the paper',
    'ppa-like': 'write random graphs in the form of ogbg-ppa',
    'wl': 'tell graphs apart with a Weisfeiler-Leman test',
    'expressiveness': 'compare what tests and networks tell apart',
    'brec': 'train a network on the pairs of BREC',
    'bench': 'measure what NC-GNN costs, side by side with GIN',
    'cost': 'measure what trained models cost at inference',
    'doctor': 'say which path layers take on this machine, and compare all paths',
    'devices': 'measure a training step, and estimate it on more devices',
}


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command.

    Args:
        argv: The name of the command and its arguments.

    Returns:
        The exit code.
    """
    # Idle threads go to sleep soon, so that torch's and numba's do not wait for each other.
    os.environ.setdefault('GOMP_SPINCOUNT', '10000')
    args = parser().parse_args(argv)
    if args.command is None:
        parser().print_help()
        return 2
    module = import_module(f'graphgym_nc.cli.{args.command.replace("-", "_")}')
    return module.main(args.args) or 0


def parser() -> argparse.ArgumentParser:
    """The parser of the command's name."""
    width = max(map(len, COMMANDS))
    lines = [f'  {name:<{width}}  {text}' for name, text in COMMANDS.items()]
    result = argparse.ArgumentParser(
        prog='graphgym-nc',
        description='NC-GNN for PyTorch Geometric and GraphGym.',
        epilog='\n'.join(['commands:', *lines, '', 'example: graphgym-nc train --cfg nc_cluster']),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    result.add_argument('--version', action='version', version=version('graphgym-nc'))
    result.add_argument(
        'command', nargs='?', choices=COMMANDS, metavar='COMMAND', help='one of those below'
    )
    result.add_argument('args', nargs=argparse.REMAINDER, help='COMMAND --help explains them')
    return result
