"""Statistics of every epoch and split, and the progress of a run."""

import json
import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch
from torch_geometric.graphgym import register
from torch_geometric.graphgym.config import cfg
from torch_geometric.graphgym.logger import Logger, infer_task
from tqdm import tqdm
from tqdm.contrib.logging import logging_redirect_tqdm

from graphgym_nc.loader import SPLITS


@contextmanager
def logging_to(folder: Path) -> Iterator[None]:
    """Sends the log to :obj:`logging.log` in a folder, to the screen, or both,
    as :obj:`cfg.print` says.
    """
    folder.mkdir(parents=True, exist_ok=True)
    handlers: list[logging.Handler] = []
    if cfg.print != 'stdout':
        handlers.append(logging.FileHandler(folder / 'logging.log'))
    if cfg.print != 'file':
        handlers.append(logging.StreamHandler(sys.stdout))
    before = logging.root.handlers, logging.root.level
    logging.root.handlers, logging.root.level = handlers, logging.INFO
    try:
        with logging_redirect_tqdm():
            yield
    finally:
        logging.root.handlers, logging.root.level = before
        for handler in handlers:
            handler.close()


class SplitLogger(Logger):
    """Collects the predictions of one split, and writes one line per epoch to
    :obj:`<run>/<split>/stats.json`.

    Tensors stay on their device until the epoch is over, so that no step waits
    for them. Metrics are GraphGym's own, or those of
    :obj:`cfg.custom_metrics`.
    """

    def start(self) -> None:
        """Begins an epoch."""
        self.reset()
        self._true: list[torch.Tensor] = []
        self._pred: list[torch.Tensor] = []
        self._losses: list[torch.Tensor] = []
        self._start = time.perf_counter()

    def update(self, outputs: dict[str, Any]) -> None:
        """Adds a batch."""
        self._iter += 1
        self._true.append(outputs['true'].detach())
        self._pred.append(outputs['pred_score'].detach())
        self._losses.append(outputs['loss'].detach() * outputs['true'].size(0))
        self._seconds = time.perf_counter() - self._start

    def write(self, epoch: int, **extra: Any) -> dict[str, Any]:
        """Ends an epoch: computes the metrics and writes them."""
        self._true = [true.cpu() for true in self._true]
        self._pred = [pred.cpu() for pred in self._pred]
        size = sum(true.size(0) for true in self._true)
        stats = {
            'epoch': epoch,
            'loss': round(float(torch.stack(self._losses).sum()) / size, 6),
            'params': cfg.params,
            'time_iter': round(self._seconds / self._iter, 6),
            'time_epoch': round(self._seconds, 4),
            **extra,
            **self.metrics(),
        }
        with open(Path(self.out_dir) / 'stats.json', 'a') as file:
            file.write(json.dumps(stats) + '\n')
        logging.info('%s: %s', self.name, stats)
        self.reset()
        return stats

    def metrics(self) -> dict[str, Any]:
        """The metrics of what has been collected."""
        if cfg.custom_metrics:
            return {
                name: register.metric_dict[name](self._true, self._pred, self.task_type)
                for name in cfg.custom_metrics
            }
        return getattr(self, self.task_type)()


class LoggerCallback(pl.Callback):
    """Logs every epoch of training, validation and test."""

    def __init__(self) -> None:
        names = SPLITS[: cfg.share.num_splits]
        self.train_logger, *self.eval_loggers = (SplitLogger(name, infer_task()) for name in names)
        self._lr = 0.0
        self._start = time.perf_counter()

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self._start = time.perf_counter()

    def on_train_epoch_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self.train_logger.start()
        self._lr = trainer.optimizers[0].param_groups[0]['lr']
        # Lightning would pass over a last epoch that is no multiple of the period.
        last = trainer.current_epoch == cfg.optim.max_epoch - 1
        trainer.check_val_every_n_epoch = 1 if last else cfg.train.eval_period

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, *_: Any
    ) -> None:
        self.train_logger.update(outputs)

    def on_validation_batch_start(
        self,
        trainer: pl.Trainer,
        pl_module: pl.LightningModule,
        batch: Any,
        batch_idx: int,
        dataloader_idx: int = 0,
    ) -> None:
        if batch_idx == 0:
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
        for logger in self.eval_loggers:
            logger.write(trainer.current_epoch)

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        epoch = trainer.current_epoch
        elapsed = time.perf_counter() - self._start
        eta = elapsed / (epoch + 1) * (cfg.optim.max_epoch - epoch - 1)
        self.train_logger.write(epoch, lr=self._lr, eta=round(eta, 1))


class ProgressCallback(pl.Callback):
    """One progress bar for the whole run, on a terminal only."""

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        total = cfg.optim.max_epoch * trainer.num_training_batches
        self.bar = tqdm(total=total, unit='batch', desc='training', disable=None, leave=False)

    def on_train_batch_end(self, trainer: pl.Trainer, *_: Any) -> None:
        self.bar.set_description(f'epoch {trainer.current_epoch + 1}/{cfg.optim.max_epoch}')
        self.bar.update()

    def on_validation_epoch_start(self, *_: Any) -> None:
        self.bar.set_description('evaluating')

    def on_train_end(self, *_: Any) -> None:
        self.bar.close()

    def on_exception(self, *_: Any) -> None:
        if hasattr(self, 'bar'):
            self.bar.close()
