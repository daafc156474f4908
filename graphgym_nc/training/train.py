"""Trains a model with PyTorch Lightning."""

import inspect
import logging
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch
from lightning_fabric.utilities.warnings import PossibleUserWarning
from pytorch_lightning.callbacks import TQDMProgressBar
from torch import Tensor
from torch_geometric.graphgym import register
from torch_geometric.graphgym.config import cfg, from_config
from torch_geometric.graphgym.model_builder import GraphGymModule
from torch_geometric.graphgym.optim import create_optimizer

from graphgym_nc.graphgym.fixes import mend
from graphgym_nc.graphgym.init import torch_weights
from graphgym_nc.graphgym.register import register_once
from graphgym_nc.graphgym.scheduler import PLATEAU
from graphgym_nc.graphgym.validation import ConfigError
from graphgym_nc.training.callbacks import LoggerCallback
from graphgym_nc.training.checkpoint import CheckpointCallback, last_checkpoint
from graphgym_nc.training.data import DataModule
from graphgym_nc.training.processes import ProcessesCallback, plugins
from graphgym_nc.training.tracking import TrackingCallback
from graphgym_nc.utils.distributed import gather_rows, is_first, world_size
from graphgym_nc.utils.split_names import SPLITS


class Module(GraphGymModule):
    """GraphGym's module, which knows validation from test, and schedulers that
    move at every step; with several processes, loss and metrics are those of
    the whole batch.
    """

    def forward(self, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        pred, true = super().forward(*args, **kwargs)
        return gather_rows(pred), gather_rows(true)

    def validation_step(self, batch: Any, batch_idx: int, dataloader_idx: int = 0) -> Any:
        return self._shared_step(batch, split=SPLITS[1 + dataloader_idx])

    def configure_optimizers(self) -> Any:
        optim = self.cfg.optim
        optimizer = create_optimizer(self.model.parameters(), optim)
        if optim.scheduler == PLATEAU:  # see PlateauCallback
            return optimizer
        create = register.scheduler_dict[optim.scheduler]
        if 'total_steps' not in inspect.signature(create).parameters:
            return [optimizer], [from_config(create)(optimizer, cfg=optim)]
        steps = int(self.trainer.estimated_stepping_batches)
        scheduler = from_config(create)(optimizer, total_steps=steps, cfg=optim)
        return [optimizer], [{'scheduler': scheduler, 'interval': 'step'}]


class PlateauCallback(pl.Callback):
    """Moves :class:`torch.optim.lr_scheduler.ReduceLROnPlateau` with the
    validation loss; Lightning would do so after the checkpoint.
    """

    def __init__(self, logger: LoggerCallback) -> None:
        self.logger = logger
        self._state: dict[str, Any] | None = None

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        create = from_config(register.scheduler_dict[PLATEAU])
        self.scheduler = create(trainer.optimizers[0], cfg=cfg.optim)
        if self._state is not None:
            self.scheduler.load_state_dict(self._state)

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self.scheduler.step(self.logger.eval_loggers[0].rows[-1]['loss'])

    def state_dict(self) -> dict[str, Any]:
        return self.scheduler.state_dict()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self._state = state_dict


def create_model() -> Module:
    """Creates the model that :obj:`cfg` describes, for the data set that has
    been loaded.
    """
    width = cfg.gnn.dim_inner if cfg.dataset.node_encoder else cfg.share.dim_in
    if cfg.gnn.layers_pre_mp == 0 and width != cfg.gnn.dim_inner:
        reason = None
        if cfg.gnn.stage_type == 'skipsum':
            reason = "'gnn.stage_type: skipsum' adds the input of a layer to its output"
        elif cfg.gnn.layers_mp == 0:
            reason = "'gnn.layers_mp: 0' gives the head what the data have"
        if reason is not None:
            raise ConfigError(
                f"{reason}, but the data have {width} features and 'gnn.dim_inner' is "
                f"{cfg.gnn.dim_inner}; set 'gnn.layers_pre_mp: 1', or 'gnn.dim_inner: {width}'"
            )
    dim_out = cfg.share.dim_out
    # GraphGym's rule for two classes; the weighted loss needs a score for each.
    one_score = cfg.dataset.task_type == 'classification' and dim_out == 2
    if one_score and cfg.model.loss_fun != 'weighted_cross_entropy':
        dim_out = 1
    model = Module(cfg.share.dim_in, dim_out, cfg)
    if cfg.nc.init == 'torch':
        model.apply(torch_weights)
    mend(model)
    return model


def device() -> torch.device:
    """The device of a model outside of Lightning's trainer."""
    if cfg.accelerator == 'auto':
        return torch.device('cuda' if torch.cuda.is_available() else 'cpu')
    return torch.device('cuda' if cfg.accelerator == 'gpu' else cfg.accelerator)


def create_trainer(callbacks: list[pl.Callback]) -> pl.Trainer:
    """Lightning's trainer, as :obj:`cfg` describes it."""
    # What Lightning has to say on workers, GPUs and loggers is for its own
    # users: here, configuration keys decide.
    warnings.filterwarnings('ignore', module='pytorch_lightning')
    warnings.filterwarnings('ignore', category=PossibleUserWarning)
    logging.getLogger('pytorch_lightning').setLevel(logging.WARNING)
    on_terminal = sys.stdout.isatty()
    return pl.Trainer(
        max_epochs=cfg.optim.max_epoch,
        check_val_every_n_epoch=cfg.train.eval_period,  # and the last: see LoggerCallback
        accelerator=cfg.accelerator,
        devices=cfg.devices,
        num_nodes=cfg.num_nodes,
        strategy=cfg.strategy if world_size() > 1 else 'auto',
        plugins=plugins(),
        use_distributed_sampler=False,  # the loaders have one
        precision=cfg.train.precision,
        deterministic=cfg.train.deterministic,
        gradient_clip_val=cfg.optim.clip_grad_norm or None,
        accumulate_grad_batches=cfg.optim.batch_accumulation,
        callbacks=[*callbacks, *([TQDMProgressBar()] if on_terminal else [])],
        default_root_dir=cfg.run_dir,
        # An untrained model would be the first to be logged as epoch 0.
        num_sanity_val_steps=0,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=on_terminal,
        enable_model_summary=False,
    )


@register_once(register.train_dict, 'standard')
def train(
    model: Module, datamodule: DataModule, extra_callbacks: Sequence[pl.Callback] = ()
) -> None:
    """Trains a model, and evaluates it on validation and test every
    :obj:`cfg.train.eval_period` epochs.

    With :obj:`cfg.train.auto_resume`, it goes on from the last checkpoint, if
    there is one.

    Args:
        model: The model.
        datamodule: The data.
        extra_callbacks: What a training function of one's own
            (:obj:`train.mode`) adds to the callbacks.
    """
    run_dir = Path(cfg.run_dir)
    path, first_epoch = last_checkpoint(run_dir) if cfg.train.auto_resume else (None, 0)
    logger = LoggerCallback(first_epoch)
    if logger.is_over(first_epoch - 1):
        return  # it was killed after its last epoch
    callbacks: list[pl.Callback] = [logger]
    if is_first():
        callbacks.append(TrackingCallback(logger))
    if world_size() > 1:
        callbacks.append(ProcessesCallback())
    if cfg.optim.scheduler == PLATEAU:
        callbacks.append(PlateauCallback(logger))
    callbacks += extra_callbacks
    if cfg.train.enable_ckpt:
        callbacks.append(CheckpointCallback(run_dir, logger))
    create_trainer(callbacks).fit(model, datamodule=datamodule, ckpt_path=path)
