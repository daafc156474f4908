"""The heads of networks of other systems."""

from collections.abc import Callable

from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.graphgym import register
from torch_geometric.graphgym.config import cfg

from graphgym_nc.graphgym.validation import ConfigError


def check_task() -> None:
    """Checks that nodes or graphs are to be predicted.

    Raises:
        ConfigError: If it is anything else.
    """
    if cfg.dataset.task not in ('node', 'graph'):
        raise ConfigError(
            f"'dataset.task' is '{cfg.dataset.task}', but 'model.type: {cfg.model.type}' is for "
            f"'node' and 'graph'"
        )


def check_layers() -> None:
    """Checks that there is a layer, for networks that read out their layers alone.

    Raises:
        ConfigError: If there is none.
    """
    if cfg.gnn.layers_mp == 0:
        raise ConfigError(
            f"'gnn.layers_mp' is 0, but 'model.type: {cfg.model.type}' needs a layer"
        )


def predict(
    batch: Data, x: Tensor, classifier: Callable[[Tensor], Tensor]
) -> tuple[Tensor, Tensor]:
    """The scores and labels of graphs, pooled by :obj:`model.graph_pooling`, or of nodes."""
    if cfg.dataset.task == 'graph':
        x = register.pooling_dict[cfg.model.graph_pooling](x, batch.batch)
    return of_split(batch, classifier(x))


def of_split(batch: Data, score: Tensor) -> tuple[Tensor, Tensor]:
    """The scores and labels of graphs, or of nodes: those of the split if it has a mask, else
    all.
    """
    mask = batch.get(f'{batch.get("split")}_mask') if cfg.dataset.task == 'node' else None
    return (score, batch.y) if mask is None else (score[mask], batch.y[mask])
