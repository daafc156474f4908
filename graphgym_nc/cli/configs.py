"""``graphgym-nc configs``: the configurations of a grid, as files."""

import sys
from collections.abc import Sequence
from pathlib import Path

import yaml

from graphgym_nc.cli.parser import make_parser
from graphgym_nc.sweeps.configs import base_configs, generate, task_name
from graphgym_nc.sweeps.errors import GridError
from graphgym_nc.sweeps.grid import Grid
from graphgym_nc.utils.packaged import ListPackaged, packaged_config, packaged_grid


def main(argv: Sequence[str] | None = None) -> None:
    """Writes the configurations."""
    parser = make_parser(
        'configs', 'Write the configurations of a grid as files.', '--grid nc --sample 20'
    )
    add = parser.add_argument
    add('--list', action=ListPackaged, const='configs')
    add('--grid', type=packaged_grid, required=True, help='the grid: a file or a packaged name')
    add('--config', type=packaged_config, help="the base (default: the grid's '# config:')")
    add('--sample', type=int, help='how many to draw (default: all)')
    add('--compare', type=lambda text: text.split(','), default=[], help='as for a sweep')
    add('--out_dir', type=Path, default=Path('configs'), help='where to write')
    args = parser.parse_args(argv)
    if args.sample is not None and args.sample < 1:
        parser.error(f'--sample is {args.sample}, but must be at least 1')
    try:
        grid = Grid.load(args.grid)
        bases = base_configs(grid, args.config)
        variants = generate(grid, bases, sample=args.sample, compare=args.compare)
    except (GridError, OSError) as error:
        sys.exit(f'{parser.prog}: {error}')
    folder = args.out_dir / task_name(bases, grid)
    folder.mkdir(parents=True, exist_ok=True)
    for variant in variants:
        results = Path(variant.config.get('out_dir', 'results')) / folder.name
        config = {**variant.config, 'out_dir': str(results)}
        (folder / f'{variant.name}.yaml').write_text(yaml.safe_dump(config))
    print(f"{len(variants)} configuration(s) in '{folder}'")
