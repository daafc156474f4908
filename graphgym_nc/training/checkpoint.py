"""Checkpoints to go on from, and to use."""

import logging
import random
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from pytorch_lightning.plugins.io import TorchCheckpointIO
from torch_geometric.graphgym.config import cfg

from graphgym_nc.training.callbacks import LoggerCallback
from graphgym_nc.training.loader import runs_on_gpu
from graphgym_nc.utils.distributed import broadcast, is_first
from graphgym_nc.utils.files import save_atomically

LAST, BEST = 'last.ckpt', 'best.ckpt'
_SECONDS = 60.0


class CheckpointCallback(pl.Callback):
    """Keeps :obj:`ckpt/last.ckpt`, from which a run goes on as if nothing had
    happened, and :obj:`ckpt/best.ckpt`, the best on validation.

    The last one is written every :obj:`train.ckpt_period` epochs, after an epoch
    that ends more than a minute after the one before was written, and at the
    end: little is lost with a run that is interrupted. With
    :obj:`train.ckpt_clean: False`, those of every period are kept as
    :obj:`ckpt/epoch_<number>.ckpt` too.

    Args:
        folder: The folder of the run.
        logger: Knows the best epoch.
    """

    def __init__(self, folder: Path, logger: LoggerCallback) -> None:
        self.folder = folder / 'ckpt'
        self.logger = logger
        self._saved = time.monotonic()

    # Called after LoggerCallback has written the epoch: it comes first in the list.
    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        epoch = trainer.current_epoch
        if self.logger.best_epoch == epoch:
            self._save(trainer, BEST)
        at_end = epoch == cfg.optim.max_epoch - 1 or trainer.should_stop
        due = (epoch + 1) % cfg.train.ckpt_period == 0 or at_end
        if due or broadcast(time.monotonic() - self._saved > _SECONDS):
            self._save(trainer, LAST)
            self._saved = time.monotonic()
        if due and not cfg.train.ckpt_clean:
            self._save(trainer, f'epoch_{epoch}.ckpt')

    def on_save_checkpoint(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        checkpoint['random_state'] = random_state()

    def on_load_checkpoint(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        set_random_state(checkpoint['random_state'])

    def _save(self, trainer: pl.Trainer, name: str) -> None:
        trainer.save_checkpoint(self.folder / name)  # all processes take part


class CompleteCheckpointIO(TorchCheckpointIO):
    """Writes checkpoints so that a file is there only once it is complete."""

    def save_checkpoint(
        self, checkpoint: dict[str, Any], path: str | Path, storage_options: Any = None
    ) -> None:
        save_atomically(Path(path), checkpoint)


def last_checkpoint(run_dir: Path) -> tuple[Path | None, int]:
    """The checkpoint to go on from, and the epoch to go on with."""
    path = run_dir / 'ckpt' / LAST
    if is_first():
        for unfinished in path.parent.glob('*.unfinished'):  # of a process that was killed
            unfinished.unlink()
    if not path.exists():
        return None, 0
    epoch = torch.load(path, map_location='cpu', weights_only=True)['epoch'] + 1
    logging.info("Going on with epoch %d, from '%s'", epoch, path)
    return path, epoch


def random_state() -> dict[str, Any]:
    """The state of all random number generators, in types that torch loads
    with :obj:`weights_only`.
    """
    version, internal, gauss = random.getstate()
    _, keys, *rest = np.random.get_state(legacy=True)
    return {
        'python': [version, list(internal), gauss],
        'numpy': [torch.from_numpy(np.asarray(keys, dtype=np.int64)), *rest],
        'torch': torch.get_rng_state(),
        # To ask a GPU that the run does not use would take memory there.
        'cuda': [torch.cuda.get_rng_state()] if runs_on_gpu() else [],
    }


def set_random_state(state: dict[str, Any]) -> None:
    """Restores what :meth:`random_state` has given."""
    version, internal, gauss = state['python']
    random.setstate((version, tuple(internal), gauss))
    keys, *rest = state['numpy']
    np.random.set_state(('MT19937', keys.numpy().astype(np.uint32), *rest))
    torch.set_rng_state(state['torch'].cpu())
    if runs_on_gpu() and state['cuda']:
        torch.cuda.set_rng_state(state['cuda'][0].cpu())
