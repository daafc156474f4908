"""Measures what models cost at inference, for the report: cost.py results/A [results/B ...].

Writes cost.json into every folder: seconds for the test split, and multiply-accumulate operations
of matrix products per graph.
"""

import argparse
import json
import sys
from pathlib import Path

from graphgym_nc.benchmark.cost import cost
from graphgym_nc.graphgym.validation import ConfigError
from graphgym_nc.training.data import DataModule
from graphgym_nc.training.run import load_config, parse_args, prepare_machine
from graphgym_nc.training.train import create_model
from graphgym_nc.utils.files import write_atomically


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument('folders', nargs='+', type=Path, help='of configurations')
    args = parser.parse_args()
    try:
        for folder in args.folders:
            load_config(parse_args(['--cfg', str(folder / 'config.yaml')]))
            prepare_machine()
            datamodule = DataModule()
            result = cost(create_model(), datamodule)
            write_atomically(folder / 'cost.json', json.dumps(result, indent=2) + '\n')
            per_graph = result['seconds'] / result['graphs']
            print(
                f'{folder}: {result["macs_per_graph"] / 1e6:.4g} MMACs and {1e3 * per_graph:.3f} '
                f'ms per graph ({result["graphs"]} graphs of {result["split"]})'
            )
    except (ConfigError, OSError) as error:
        sys.exit(f'cost.py: {error}')


if __name__ == '__main__':
    main()
