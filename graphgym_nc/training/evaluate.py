"""Evaluates a saved model."""

from pathlib import Path

import torch
from torch import Tensor
from torch_geometric.graphgym.config import cfg
from torch_geometric.graphgym.logger import infer_task

from graphgym_nc.graphgym.validation import ConfigError
from graphgym_nc.results.aggregate import Stats
from graphgym_nc.training.data import DataModule
from graphgym_nc.training.statistics import Metrics
from graphgym_nc.training.train import Module, create_model, device
from graphgym_nc.triangles.loader import move
from graphgym_nc.utils.split_names import SPLITS


def evaluate(path: Path, split: str) -> tuple[Stats, Tensor, Tensor]:
    """Evaluates a checkpoint on one split, without training.

    Args:
        path: A checkpoint, such as :obj:`<run>/ckpt/best.ckpt`.
        split: The split.

    Returns:
        The metrics, and the predicted scores and labels in the order of the
        data set.

    Raises:
        ConfigError: If there is no such split, or the checkpoint does not
            belong to the configuration.
    """
    if not path.is_file():
        raise FileNotFoundError(f"there is no checkpoint '{path}'")
    datamodule = DataModule()
    index = SPLITS.index(split)
    if index >= len(datamodule.loaders):
        raise ConfigError(f"'dataset.name: {cfg.dataset.name}' has no {split} split")
    model = create_model()
    _load(model, path)
    model = model.to(device()).eval()
    metrics = Metrics(split, infer_task())
    with torch.inference_mode():
        for batch in datamodule.ordered_loader(index):
            metrics.update(model._shared_step(move(batch, model.device), split))
    return metrics.compute(), torch.cat(metrics.pred), torch.cat(metrics.true)


def _load(model: Module, path: Path) -> None:
    try:
        state = torch.load(path, map_location='cpu', weights_only=True)['state_dict']
    except OSError:
        raise
    except Exception as error:  # on other bytes, unpickling ends in any of them
        raise ConfigError(
            f"'{path}' is not a checkpoint that 'graphgym-nc train' wrote"
        ) from error
    try:
        model.load_state_dict(state)
    except (RuntimeError, TypeError) as error:
        reason = ' '.join(str(error).split())[:200]
        raise ConfigError(
            f"'{path}' is not a checkpoint of this configuration: {reason}"
        ) from error
