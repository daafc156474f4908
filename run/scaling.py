"""Measures a step of training and two processes, and estimates more of them:

scaling.py --cfg FILE [--devices 2] [--gpu-speed 30] [KEY VALUE ...]

With one thread per process, on the CPU. docs/scaling.md explains the figures.
"""

import argparse
import dataclasses
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch
from pytorch_lightning import seed_everything
from torch.nn.modules.batchnorm import _BatchNorm
from torch_geometric.graphgym.config import cfg
from torch_geometric.graphgym.loss import compute_loss
from torch_geometric.graphgym.optim import create_optimizer

from graphgym_nc.benchmark.devices import StepCost, fit_step
from graphgym_nc.training.data import DataModule
from graphgym_nc.training.run import load_config, prepare_machine
from graphgym_nc.training.run import parse_args as parse_run
from graphgym_nc.training.train import create_model

SIZES = (4, 8, 16, 32)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument('--cfg', required=True)
    parser.add_argument('--devices', type=int, default=2, help='processes to measure')
    parser.add_argument('--epochs', type=int, default=3)
    parser.add_argument('--gpu-speed', type=float, default=30.0, help='of a GPU; a core is 1')
    parser.add_argument('--bandwidth', type=float, default=1e10, help='bytes per second')
    parser.add_argument('--latency', type=float, default=2e-5, help='seconds')
    parser.add_argument('--workers', type=int, default=4, help='loading processes of a GPU')
    args, opts = parser.parse_known_args()
    opts = ['accelerator', 'cpu', 'num_threads', '1', *opts]
    cost = measure(args.cfg, opts)
    print_processes(args, opts)
    gpu = dataclasses.replace(
        cost, speed=args.gpu_speed, bandwidth=args.bandwidth, latency=args.latency,
        workers=args.workers,
    )  # fmt: skip
    print_estimate(gpu, cfg.train.batch_size)


def measure(config: str, opts: list[str]) -> StepCost:
    load_config(parse_run(['--cfg', config, *opts]))
    prepare_machine()
    seed_everything(0, verbose=False)
    batch_size = cfg.train.batch_size
    seconds, loading = [], 0.0
    for size in SIZES:
        cfg.train.batch_size = size
        datamodule = DataModule()
        model = create_model().train()
        optimizer = create_optimizer(model.parameters(), cfg.optim)
        start = time.perf_counter()
        batches = [batch for batch, _ in zip(datamodule.loaders[0], range(16), strict=False)]
        loading = (time.perf_counter() - start) / sum(batch.num_graphs for batch in batches)
        times = []
        for batch in batches:
            start = time.perf_counter()
            batch.split = 'train'
            optimizer.zero_grad()
            compute_loss(*model(batch))[0].backward()
            optimizer.step()
            times.append(time.perf_counter() - start)
        seconds.append(sorted(times)[len(times) // 2])
        print(f'step of {size:>3} graphs: {1e3 * seconds[-1]:7.1f} ms')
    cfg.train.batch_size = batch_size
    fixed, per_graph = fit_step(SIZES, seconds)
    gradient = sum(p.numel() * p.element_size() for p in model.parameters())
    # Sizes, scores and labels of a batch; with sync_batchnorm, two sums and one backward each.
    norms = sum(isinstance(module, _BatchNorm) for module in model.modules())
    messages = 4 + (3 * norms if cfg.sync_batchnorm else 0)
    print(f'fit: {1e3 * fixed:.2f} ms + {1e3 * per_graph:.2f} ms per graph')
    print(f'loading: {1e3 * loading:.3f} ms per graph ({loading / per_graph:.1%} of compute)')
    print(f'gradient: {gradient / 1e6:.2f} MB; small messages: {messages}')
    return StepCost(fixed, per_graph, loading, gradient, messages)


def print_processes(args: argparse.Namespace, opts: list[str]) -> None:
    main_py = Path(__file__).parent / 'main.py'
    seconds = {}
    for devices in (1, args.devices):
        with tempfile.TemporaryDirectory() as out:
            keys = ['out_dir', out, 'devices', str(devices), 'optim.max_epoch', str(args.epochs)]
            command = [sys.executable, str(main_py), '--cfg', args.cfg, *opts, *keys]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            (path,) = Path(out).glob('*/[0-9]*/train/stats.json')
            rows = [json.loads(line) for line in path.read_text().splitlines()]
        seconds[devices] = min(row['time_epoch'] for row in rows)
        speedup = seconds[1] / seconds[devices]
        print(f'{devices} process(es): {seconds[devices]:.2f} s per epoch, speed-up {speedup:.2f}')


def print_estimate(cost: StepCost, batch_size: int) -> None:
    print('estimate for GPUs:')
    for devices in (1, 8, 64):
        for graphs, what in ((batch_size / devices, 'same batch'), (batch_size, 'same share')):
            if graphs < 1:
                print(f'{devices:>3} devices, {what}: fewer graphs than devices')
                continue
            step, rate = cost.step(devices, graphs), cost.speedup(devices, graphs, batch_size)
            share = cost.communication(devices) / step
            print(
                f'{devices:>3} devices, {what}: step {1e3 * step:6.2f} ms, '
                f'{share:4.0%} communication, speed-up {rate:5.1f}'
            )


if __name__ == '__main__':
    torch.set_num_threads(1)
    main()
