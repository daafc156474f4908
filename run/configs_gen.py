"""The configurations of a grid, as files: configs_gen.py --grid FILE [--config FILE]."""

import argparse
import sys
from pathlib import Path

import yaml

from graphgym_nc.sweeps.configs import base_configs, generate, task_name
from graphgym_nc.sweeps.errors import GridError
from graphgym_nc.sweeps.grid import Grid


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--grid', type=Path, required=True, help='the grid')
    parser.add_argument('--config', type=Path, help="the base (default: the grid's '# config:')")
    parser.add_argument('--sample', type=int, help='how many to draw (default: all)')
    parser.add_argument(
        '--compare', type=lambda text: text.split(','), default=[], help='as for run_batch.sh'
    )
    parser.add_argument('--out_dir', type=Path, default=Path('configs'), help='where to write')
    args = parser.parse_args()
    try:
        grid = Grid.load(args.grid)
        bases = base_configs(grid, args.config)
        variants = generate(grid, bases, sample=args.sample, compare=args.compare)
    except (GridError, OSError) as error:
        sys.exit(f'configs_gen.py: {error}')
    folder = args.out_dir / task_name(bases, grid)
    folder.mkdir(parents=True, exist_ok=True)
    for variant in variants:
        results = Path(variant.config.get('out_dir', 'results')) / folder.name
        config = {**variant.config, 'out_dir': str(results)}
        (folder / f'{variant.name}.yaml').write_text(yaml.safe_dump(config))
    print(f"{len(variants)} configuration(s) in '{folder}'")


if __name__ == '__main__':
    main()
