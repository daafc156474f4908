"""Logs every epoch."""

import logging
import resource
import sys
import time
from typing import Any

import pytorch_lightning as pl
import torch
from torch_geometric.graphgym.config import cfg
from torch_geometric.graphgym.logger import infer_task

from graphgym_nc.graphgym.validation import best_metric
from graphgym_nc.results.aggregate import best_epoch
from graphgym_nc.training.loader import runs_on_gpu
from graphgym_nc.training.statistics import SplitLogger
from graphgym_nc.utils.split_names import SPLITS


class LoggerCallback(pl.Callback):
    """Logs every epoch of training, validation and test, and stops a run that
    no longer gets better (:obj:`train.early_stopping`).

    Args:
        first_epoch: The epoch that a resumed run goes on with.
    """

    def __init__(self, first_epoch: int = 0) -> None:
        names = SPLITS[: cfg.share.num_splits]
        self.loggers = [SplitLogger(name, infer_task(), first_epoch) for name in names]
        self.train_logger, *self.eval_loggers = self.loggers
        self._first_epoch = first_epoch
        self._metric, self._minimise = best_metric(cfg)
        self._lr = 0.0
        self._start = time.perf_counter()

    @property
    def best_epoch(self) -> int | None:
        """The epoch that is best on validation so far."""
        rows = self.eval_loggers[0].rows
        return best_epoch(rows, self._metric, self._minimise) if rows else None

    def is_over(self, epoch: int) -> bool:
        """Whether there was no better validation for too long, up to an epoch."""
        # Lightning's EarlyStopping would count evaluations, not epochs.
        patience, best = cfg.train.early_stopping, self.best_epoch
        return patience > 0 and best is not None and epoch - best >= patience

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self._start = time.perf_counter()
        if runs_on_gpu():
            torch.cuda.reset_peak_memory_stats()  # of an earlier seed

    def on_train_epoch_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self.train_logger.start()
        self._lr = trainer.optimizers[0].param_groups[0]['lr']
        if trainer.current_epoch == cfg.optim.max_epoch - 1:
            # Lightning would not evaluate a last epoch that is no multiple of the period.
            trainer.check_val_every_n_epoch = 1

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, *_: Any
    ) -> None:
        # Lightning has divided the loss for the gradients that it adds up.
        loss = outputs['loss'] * trainer.accumulate_grad_batches
        self.train_logger.update({**outputs, 'loss': loss})

    def on_validation_batch_start(
        self,
        trainer: pl.Trainer,
        pl_module: pl.LightningModule,
        batch: Any,
        batch_idx: int,
        dataloader_idx: int = 0,
    ) -> None:
        if batch_idx == 0:
            before = self.train_logger if dataloader_idx == 0 else self.eval_loggers[0]
            before.stop()
            self.eval_loggers[dataloader_idx].start()

    def on_validation_batch_end(
        self,
        trainer: pl.Trainer,
        pl_module: pl.LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,
        dataloader_idx: int = 0,
    ) -> None:
        self.eval_loggers[dataloader_idx].update(outputs)

    def on_validation_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        # Validation comes before the end of the training epoch.
        self.train_logger.check_finite(trainer.current_epoch)
        for logger in self.eval_loggers:
            logger.check_finite(trainer.current_epoch)
            logger.write(trainer.current_epoch)

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        epoch = trainer.current_epoch
        self.train_logger.check_finite(epoch)
        elapsed = time.perf_counter() - self._start
        per_epoch = elapsed / (epoch + 1 - self._first_epoch)
        eta = round(per_epoch * (cfg.optim.max_epoch - epoch - 1), 1)
        self.train_logger.write(epoch, lr=self._lr, eta=eta, memory_mb=_peak_memory())
        if self.is_over(epoch):
            logging.info('No better validation since epoch %d: stopping', self.best_epoch)
            trainer.should_stop = True


def _peak_memory() -> int:
    """The peak memory of the device in MB: of the GPU, or else the process."""
    if runs_on_gpu():
        return torch.cuda.max_memory_allocated() >> 20
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak >> (20 if sys.platform == 'darwin' else 10)  # bytes there, else kilobytes
