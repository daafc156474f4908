"""Sends statistics to TensorBoard and Weights & Biases, where asked for."""

import logging
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
from torch_geometric.graphgym.config import cfg

from graphgym_nc.training.callbacks import LoggerCallback


class TrackingCallback(pl.Callback):
    """Passes on what has been logged, at the end of every epoch: to event files
    beside every split's statistics (:obj:`tensorboard_each_run`), and to Weights &
    Biases (:obj:`wandb.use`).

    Lightning's own loggers would count steps in place of epochs.

    Args:
        logger: Has the statistics.
    """

    def __init__(self, logger: LoggerCallback) -> None:
        self.logger = logger
        names = [split.name for split in logger.loggers]
        self.writers = _summary_writers(names) if cfg.tensorboard_each_run else {}
        self.run = _wandb_run() if cfg.wandb.use else None

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        epoch = trainer.current_epoch
        rows = {split.name: split.rows[-1] for split in self.logger.loggers if split.rows}
        rows = {name: row for name, row in rows.items() if row['epoch'] == epoch}
        for name, writer in self.writers.items():
            for key, value in rows.get(name, {}).items():
                writer.add_scalar(key, value, epoch)
        if self.run is not None:
            self.run.log(
                {
                    f'{name}/{key}': value
                    for name, row in rows.items()
                    for key, value in row.items()
                }
            )

    def on_fit_end(self, *_: Any) -> None:
        for writer in self.writers.values():
            writer.close()
        if self.run is not None:
            self.run.finish()

    def on_exception(self, *_: Any) -> None:
        self.on_fit_end()


def _summary_writers(names: list[str]) -> dict[str, Any]:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        logging.warning(
            "'tensorboard_each_run' is True, but TensorBoard is not installed: going on "
            'without (pip install tensorboard)'
        )
        return {}
    return {name: SummaryWriter(str(Path(cfg.run_dir) / name)) for name in names}


def _wandb_run() -> Any:
    import wandb

    run_dir = Path(cfg.run_dir)
    return wandb.init(
        project=cfg.wandb.project,
        name=f'{run_dir.parent.name}-{run_dir.name}',
        mode=cfg.wandb.mode,
        dir=str(run_dir),
        config=dict(cfg),
    )
