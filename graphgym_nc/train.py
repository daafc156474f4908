"""Trains a model with PyTorch Lightning."""

import inspect
import logging
import warnings
from typing import Any

import pytorch_lightning as pl
from torch_geometric.graphgym import register
from torch_geometric.graphgym.config import cfg, from_config
from torch_geometric.graphgym.model_builder import GraphGymModule
from torch_geometric.graphgym.optim import create_optimizer

from graphgym_nc.layer import scale_communication
from graphgym_nc.loader import SPLITS, DataModule
from graphgym_nc.logger import LoggerCallback, ProgressCallback


class Module(GraphGymModule):
    """GraphGym's module, which knows validation from test, and schedulers that
    move at every step.
    """

    def validation_step(self, batch: Any, batch_idx: int, dataloader_idx: int = 0) -> Any:
        return self._shared_step(batch, split=SPLITS[1 + dataloader_idx])

    def configure_optimizers(self) -> Any:
        optim = self.cfg.optim
        optimizer = create_optimizer(self.model.parameters(), optim)
        create = register.scheduler_dict[optim.scheduler]
        if 'total_steps' not in inspect.signature(create).parameters:
            return [optimizer], [from_config(create)(optimizer, cfg=optim)]
        steps = int(self.trainer.estimated_stepping_batches)
        scheduler = from_config(create)(optimizer, total_steps=steps, cfg=optim)
        return [optimizer], [{'scheduler': scheduler, 'interval': 'step'}]


def create_model() -> Module:
    """Creates the model that :obj:`cfg` describes, for the data set that has
    been loaded.
    """
    dim_out = cfg.share.dim_out
    # GraphGym's rule for two classes; the weighted loss needs a score for each.
    one_score = cfg.dataset.task_type == 'classification' and dim_out == 2
    if one_score and cfg.model.loss_fun != 'weighted_cross_entropy':
        dim_out = 1
    model = Module(cfg.share.dim_in, dim_out, cfg)
    scale_communication(model)
    return model


def train(model: Module, datamodule: DataModule) -> None:
    """Trains a model, and evaluates it on validation and test every
    :obj:`cfg.train.eval_period` epochs.
    """
    # What Lightning has to say on workers, GPUs and loggers is for its own
    # users: here, configuration keys decide.
    warnings.filterwarnings('ignore', module='pytorch_lightning')
    logging.getLogger('pytorch_lightning').setLevel(logging.WARNING)
    trainer = pl.Trainer(
        max_epochs=cfg.optim.max_epoch,
        accelerator=cfg.accelerator,
        devices=cfg.devices or 'auto',
        callbacks=[LoggerCallback(), ProgressCallback()],
        default_root_dir=cfg.run_dir,
        # An untrained model would be the first to be logged as epoch 0.
        num_sanity_val_steps=0,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(model, datamodule=datamodule)
