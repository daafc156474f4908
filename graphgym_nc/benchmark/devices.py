"""What a step of training takes: measured in processes here, estimated on more devices."""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from pytorch_lightning import seed_everything
from torch.nn.modules.batchnorm import _BatchNorm
from torch_geometric.graphgym.config import cfg
from torch_geometric.graphgym.loss import compute_loss
from torch_geometric.graphgym.optim import create_optimizer

from graphgym_nc.training.data import DataModule
from graphgym_nc.training.run import load_config, parse_args, prepare_machine
from graphgym_nc.training.train import create_model

#: The numbers of graphs in the steps that are measured.
SIZES = (4, 8, 16, 32)


@dataclass(frozen=True)
class StepCost:
    r"""The cost of a step, measured on one device of one kind and scaled to
    another.

    On :math:`N` devices with :math:`b` graphs each, a step takes

    .. math::
        t = \max(f + k b / g, \; l b / w) + a, \qquad
        a = 2 \frac{N - 1}{N} \frac{G}{B} + 2 (N - 1) \lambda + c \lceil
        \log_2 N \rceil \lambda

    with the compute, unless the loader is slower, and the communication: a ring
    that adds up the gradients, and :math:`c` small messages along a tree.
    Nothing of it is taken to overlap.

    Attributes:
        fixed: :math:`f`, the seconds of a step whatever its size.
        per_graph: :math:`k`, the seconds of each graph.
        loading: :math:`l`, the seconds that loading a graph takes.
        gradient: :math:`G`, the bytes of all gradients.
        messages: :math:`c`, the number of small collective operations.
        speed: :math:`g`, how many times as fast as the measured device.
        workers: :math:`w`, the processes that load (0 for none beside the
            training, which then waits).
        bandwidth: :math:`B`, in bytes per second, between any two devices.
        latency: :math:`\lambda`, the seconds of a message.
    """

    fixed: float
    per_graph: float
    loading: float
    gradient: int
    messages: int
    speed: float = 1.0
    workers: int = 0
    bandwidth: float = 1e10
    latency: float = 2e-5

    def communication(self, devices: int) -> float:
        """The seconds that a step spends on communication."""
        if devices == 1:
            return 0.0
        ring = 2 * (devices - 1) / devices * self.gradient / self.bandwidth
        ring += 2 * (devices - 1) * self.latency
        return ring + self.messages * int(np.ceil(np.log2(devices))) * self.latency

    def step(self, devices: int, graphs: float) -> float:
        """The seconds of a step with so many graphs on each device."""
        compute, loading = self.fixed + self.per_graph * graphs / self.speed, self.loading * graphs
        if self.workers == 0:
            return compute + loading + self.communication(devices)
        return max(compute, loading / self.workers) + self.communication(devices)

    def speedup(self, devices: int, graphs: float, batch_size: float) -> float:
        """How many times as many graphs per second as one device, which has
        steps of :obj:`batch_size`.
        """
        rate = devices * graphs / self.step(devices, graphs)
        return rate * self.step(1, batch_size) / batch_size


def fit_step(graphs: Sequence[float], seconds: Sequence[float]) -> tuple[float, float]:
    """The fixed cost and the cost per graph that explain measured steps."""
    per_graph, fixed = np.polyfit(np.asarray(graphs), np.asarray(seconds), 1)
    return max(float(fixed), 0.0), float(per_graph)


def measure_step(config: Path, opts: Sequence[str]) -> StepCost:
    """Measures steps of several sizes in this process, and prints them."""
    load_config(parse_args(['--cfg', str(config), *opts]))
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


def measure_processes(config: Path, opts: Sequence[str], devices: int, epochs: int) -> None:
    """Trains in one process and in several, and prints the time of an epoch."""
    seconds = {}
    for number in (1, devices):
        with tempfile.TemporaryDirectory() as out:
            command = [
                sys.executable, '-m', 'graphgym_nc.cli', 'train', '--cfg', str(config), *opts,
                'out_dir', out, 'devices', str(number), 'optim.max_epoch', str(epochs),
            ]  # fmt: skip
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            (path,) = Path(out).glob('*/[0-9]*/train/stats.json')
            rows = [json.loads(line) for line in path.read_text().splitlines()]
        seconds[number] = min(row['time_epoch'] for row in rows)
        speedup = seconds[1] / seconds[number]
        print(f'{number} process(es): {seconds[number]:.2f} s per epoch, speed-up {speedup:.2f}')


def print_estimate(cost: StepCost, batch_size: int) -> None:
    """Prints the steps of 1, 8 and 64 devices."""
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
