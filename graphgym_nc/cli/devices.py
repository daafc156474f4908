"""``graphgym-nc devices``: a step of training, measured here and estimated on more devices."""

import dataclasses
import sys
from collections.abc import Sequence

import torch
from torch_geometric.graphgym.config import cfg

from graphgym_nc.benchmark.devices import measure_processes, measure_step, print_estimate
from graphgym_nc.cli.parser import make_parser
from graphgym_nc.graphgym.validation import ConfigError
from graphgym_nc.utils.packaged import packaged_config

_DESCRIPTION = """\
Measure a step of training and two processes, and estimate more of them.

Runs on the CPU, with one thread per process. Pairs KEY VALUE change the configuration."""


def main(argv: Sequence[str] | None = None) -> None:
    """Prints all measurements and estimates."""
    parser = make_parser('devices', _DESCRIPTION, '--cfg nc_cluster_4l_100k --devices 2')
    add = parser.add_argument
    add('--cfg', type=packaged_config, required=True, help='a file, or a packaged name')
    add('--devices', type=int, default=2, help='processes to measure')
    add('--epochs', type=int, default=3)
    add('--gpu-speed', type=float, default=30.0, help='of a GPU; a core is 1')
    add('--bandwidth', type=float, default=1e10, help='bytes per second')
    add('--latency', type=float, default=2e-5, help='seconds')
    add('--workers', type=int, default=4, help='loading processes of a GPU')
    args, opts = parser.parse_known_args(argv)
    torch.set_num_threads(1)
    opts = ['accelerator', 'cpu', 'num_threads', '1', *opts]
    try:
        cost = measure_step(args.cfg, opts)
        measure_processes(args.cfg, opts, args.devices, args.epochs)
    except (ConfigError, OSError) as error:
        sys.exit(f'{parser.prog}: {error}')
    gpu = dataclasses.replace(
        cost,
        speed=args.gpu_speed,
        bandwidth=args.bandwidth,
        latency=args.latency,
        workers=args.workers,
    )
    print_estimate(gpu, cfg.train.batch_size)
