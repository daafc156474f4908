"""Initial weights other than GraphGym's."""

import torch
from torch_geometric.graphgym.init import init_weights

__all__ = ['init_weights', 'torch_weights']


def torch_weights(module: torch.nn.Module) -> None:
    """Gives a module the initial weights that PyTorch would, after GraphGym has
    given it larger ones (:meth:`~torch_geometric.graphgym.init.init_weights`).
    """
    if isinstance(module, (torch.nn.BatchNorm1d, torch.nn.Linear)):
        module.reset_parameters()
