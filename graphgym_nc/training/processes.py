"""The processes of one training, as many as it has devices: who starts them, and
how they keep together.
"""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytorch_lightning as pl
import torch
import torch.distributed as dist
from lightning_fabric.plugins.environments.cluster_environment import ClusterEnvironment
from lightning_fabric.plugins.environments.lightning import LightningEnvironment
from lightning_fabric.plugins.environments.slurm import SLURMEnvironment
from lightning_fabric.plugins.environments.torchelastic import TorchElasticEnvironment
from pytorch_lightning.plugins import LayerSync
from torch_geometric.graphgym.config import cfg

from graphgym_nc.graphgym.validation import ConfigError
from graphgym_nc.nn.sync_batch_norm import SyncBatchNorm
from graphgym_nc.training.checkpoint import (
    CompleteCheckpointIO,
    random_state,
    set_random_state,
)
from graphgym_nc.utils.cores import available_cpus
from graphgym_nc.utils.distributed import is_first, rank, world_size


@contextmanager
def together() -> Iterator[None]:
    """Joins this process with all others of its training.

    They have been started by :obj:`srun` or :obj:`torchrun`; where neither has,
    this process becomes a :obj:`torchrun` that starts its program again.

    Raises:
        ConfigError: If there are more or fewer processes than devices.
    """
    check_processes()
    if cfg.devices * cfg.num_nodes == 1:
        yield
        return
    if not _is_started():
        _become_torchrun()
    environment = cluster_environment()
    os.environ['MASTER_ADDR'] = environment.main_address
    os.environ['MASTER_PORT'] = str(environment.main_port)
    # Without a backend: gloo for tensors on the CPU, NCCL for those on GPUs.
    dist.init_process_group(rank=environment.global_rank(), world_size=environment.world_size())
    try:
        yield
    finally:
        dist.destroy_process_group()


def check_processes() -> None:
    """Makes sure that there are as many processes as devices.

    Raises:
        ConfigError: If there are not, or if too few GPUs are visible.
    """
    devices, nodes = cfg.devices, cfg.num_nodes
    wanted = f"'devices' x 'num_nodes' is {devices} x {nodes}"
    if cfg.train.batch_size < devices * nodes:
        raise ConfigError(
            f"'train.batch_size' is {cfg.train.batch_size}, but {wanted}: every device needs a "
            f'graph of each batch'
        )
    if _is_started():
        by = 'torchrun' if _by_torchrun() else 'srun'
        size = int(os.environ['WORLD_SIZE' if _by_torchrun() else 'SLURM_NTASKS'])
        if size != devices * nodes:
            raise ConfigError(
                f'{by} has started {size} process(es), but {wanted}; start as many as there are '
                f'devices, or change the keys'
            )
        if by == 'srun' and int(os.environ['SLURM_STEP_NUM_NODES']) != nodes:
            raise ConfigError(
                f'srun has started on {os.environ["SLURM_STEP_NUM_NODES"]} node(s), but {wanted}'
            )
    elif nodes > 1:
        raise ConfigError(
            f'{wanted}: start one process for each on every node, with srun '
            f'--nodes={nodes} --ntasks-per-node={devices}'
        )
    on_gpu = cfg.accelerator in ('gpu', 'cuda') or (
        cfg.accelerator == 'auto' and torch.cuda.is_available()
    )
    if on_gpu and torch.cuda.device_count() < devices:
        raise ConfigError(
            f"'devices' is {devices}, but {torch.cuda.device_count()} GPU(s) are visible to this "
            f"process; set 'accelerator: cpu', or ask for more (from SLURM with --gpus-per-node, "
            f'as --gpus-per-task shows only one to each)'
        )


def cluster_environment() -> ClusterEnvironment:
    """How Lightning is to find the other processes.

    It is told, as it would warn of an :obj:`srun` that is there but not used,
    and would requeue jobs by itself.
    """
    if not _is_started() or cfg.devices * cfg.num_nodes == 1:
        return LightningEnvironment()
    if _by_torchrun():
        return TorchElasticEnvironment()
    # Lightning insists on this variable, which `srun --ntasks` does not set.
    os.environ['SLURM_NTASKS_PER_NODE'] = str(cfg.devices)
    return SLURMEnvironment(auto_requeue=False)


class SyncBatchNormPlugin(LayerSync):
    """Tells Lightning to synchronise BatchNorm with
    :class:`~graphgym_nc.nn.sync_batch_norm.SyncBatchNorm`.
    """

    def apply(self, model: torch.nn.Module) -> torch.nn.Module:
        return SyncBatchNorm.convert(model)

    def revert(self, model: torch.nn.Module) -> torch.nn.Module:
        return SyncBatchNorm.revert(model)


class ProcessesCallback(pl.Callback):
    """Keeps the processes of a training apart where they must differ, and equal
    where they must not.
    """

    def __init__(self) -> None:
        self._random_state = random_state()

    def setup(self, *_: Any, **__: Any) -> None:
        # DDPStrategy seeds anew, as a single device does not.
        set_random_state(self._random_state)

    def on_train_start(self, *_: Any) -> None:
        # Lightning would broadcast from within its handler, between whatever
        # else is being sent. What is on disk is complete at any time.
        signal.signal(signal.SIGTERM, signal.SIG_DFL)

    def on_train_epoch_start(self, trainer: pl.Trainer, *_: Any) -> None:
        # Dropout is not to be the same everywhere, but the same again after the
        # run was interrupted. The first process goes on as if it were alone.
        if not is_first():
            numbers = (cfg.seed, trainer.current_epoch, rank())
            torch.manual_seed(hash(numbers) % 2**63)

    def on_validation_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        # The running statistics of the first process are those that are saved.
        for buffer in pl_module.buffers():
            dist.broadcast(buffer, src=0)


def plugins() -> list[Any]:
    """What Lightning's trainer needs to know."""
    synchronised = world_size() > 1 and cfg.sync_batchnorm
    own = [cluster_environment(), CompleteCheckpointIO()]
    return [*own, SyncBatchNormPlugin()] if synchronised else own


def available_threads(processes: int) -> int:
    """The share of one of several processes in the cores that it may use."""
    cpus = available_cpus()
    if processes > 1 and _by_srun() and not _by_torchrun():
        # srun may have bound this process to its share already.
        return max(1, min(cpus, int(os.environ.get('SLURM_CPUS_ON_NODE', cpus)) // processes))
    return max(1, cpus // processes)


def process_number() -> int:
    """The number of this process, as the one who started it says."""
    by_torchrun = _by_torchrun()
    return int(os.environ['RANK' if by_torchrun else 'SLURM_PROCID']) if _is_started() else 0


def _is_started() -> bool:
    """Whether somebody has started this process as one of several, maybe."""
    return _by_torchrun() or _by_srun()


def _by_torchrun() -> bool:
    return TorchElasticEnvironment.detect()


def _by_srun() -> bool:
    return 'SLURM_STEP_ID' in os.environ and 'SLURM_PROCID' in os.environ


def _become_torchrun() -> None:
    os.environ.setdefault('OMP_NUM_THREADS', str(torch.get_num_threads()))  # its share already
    torchrun = [sys.executable, '-m', 'torch.distributed.run', '--standalone']
    # A module is to be started as one again (python -m), not as the file that it is in.
    module = sys.modules['__main__'].__spec__
    program = ['-m', module.name.removesuffix('.__main__')] if module else [sys.argv[0]]
    sys.stdout.flush()
    os.execv(
        sys.executable,
        [*torchrun, f'--nproc-per-node={cfg.devices}', *program, *sys.argv[1:]],
    )
