"""Sends statistics to TensorBoard and Weights & Biases, where asked for."""

import logging
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
from torch_geometric.graphgym.config import cfg

from graphgym_nc.results.aggregate import Stats
from graphgym_nc.training.callbacks import LoggerCallback


def tracking_callbacks(logger: LoggerCallback) -> list[pl.Callback]:
    """The trackers that :obj:`cfg` asks for."""
    callbacks: list[pl.Callback] = []
    if cfg.tensorboard_each_run:
        try:
            callbacks.append(TensorBoardCallback(logger))
        except ImportError:
            logging.warning(
                "'tensorboard_each_run' is True, but TensorBoard is not installed: going on "
                'without (pip install tensorboard)'
            )
    if cfg.wandb.use:
        callbacks.append(WandbCallback(logger))
    return callbacks


class _Tracker(pl.Callback):
    """Passes on what has been logged at the end of every epoch."""

    def __init__(self, logger: LoggerCallback) -> None:
        self.logger = logger

    def track(self, split: str, stats: Stats) -> None:
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        for logger in self.logger.loggers:
            if logger.rows and logger.rows[-1]['epoch'] == trainer.current_epoch:
                self.track(logger.name, logger.rows[-1])

    def on_fit_end(self, *_: Any) -> None:
        self.close()

    def on_exception(self, *_: Any) -> None:
        self.close()


class TensorBoardCallback(_Tracker):
    """Writes event files beside every split's statistics."""

    def __init__(self, logger: LoggerCallback) -> None:
        from torch.utils.tensorboard import SummaryWriter

        super().__init__(logger)
        self.writers = {
            split.name: SummaryWriter(str(Path(cfg.run_dir) / split.name))
            for split in logger.loggers
        }

    def track(self, split: str, stats: Stats) -> None:
        for key, value in stats.items():
            self.writers[split].add_scalar(key, value, stats['epoch'])

    def close(self) -> None:
        for writer in self.writers.values():
            writer.close()


class WandbCallback(_Tracker):
    """Logs to Weights & Biases, online or offline."""

    def __init__(self, logger: LoggerCallback) -> None:
        import wandb

        super().__init__(logger)
        run_dir = Path(cfg.run_dir)
        self.run = wandb.init(
            project=cfg.wandb.project,
            name=f'{run_dir.parent.name}-{run_dir.name}',
            mode=cfg.wandb.mode,
            dir=str(run_dir),
            config=dict(cfg),
        )

    def track(self, split: str, stats: Stats) -> None:
        self.run.log({f'{split}/{key}': value for key, value in stats.items()}, commit=False)
        if split == 'train':
            self.run.log({}, commit=True)

    def close(self) -> None:
        self.run.finish()
