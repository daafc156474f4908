"""``graphgym-nc doctor``: which path layers take on this machine, and why."""

from collections.abc import Sequence

from graphgym_nc.benchmark.doctor import comparison, facts
from graphgym_nc.benchmark.paths import TOLERANCE
from graphgym_nc.benchmark.suite import rounded
from graphgym_nc.cli.parser import make_parser
from graphgym_nc.utils.render import markdown

_DESCRIPTION = """\
Say which path layers take on this machine, and why; run a small batch on all paths, and compare
outputs, gradients and running statistics with those in double precision.

The exit code is 1 if a path computes something else."""


def main(argv: Sequence[str] | None = None) -> int:
    """Prints what is found, and returns the exit code."""
    make_parser('doctor', _DESCRIPTION, '').parse_args(argv)
    print('\n'.join(facts()))
    rows = comparison()
    print(f'\n{markdown(rounded(rows))}\n')
    wrong = [row for row in rows if not row['greatest difference'] < TOLERANCE]
    for row in wrong:
        print(f"Wrong: '{row['path']}' on {row['device']} differs. Do not use it, and tell us.")
    print(f'{len(rows) - len(wrong)} of {len(rows)} as in double precision')
    return int(bool(wrong))
