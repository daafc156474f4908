"""Initial weights: GraphGym's and PyTorch's, and what a layer of ours makes of them."""

import torch
from torch_geometric.graphgym import init

from graphgym_nc.nn import NCGNNConv


def init_weights(module: torch.nn.Module) -> None:
    """Gives a module GraphGym's initial weights."""
    init.init_weights(module)
    _scale(module)


def torch_weights(module: torch.nn.Module) -> None:
    """Gives a module the initial weights that PyTorch would, after GraphGym has
    given it larger ones (:meth:`~torch_geometric.graphgym.init.init_weights`).
    """
    if isinstance(module, (torch.nn.BatchNorm1d, torch.nn.Linear)):
        module.reset_parameters()
    _scale(module)


def _scale(module: torch.nn.Module) -> None:
    # `Module.apply` comes to a layer after it has been to all inside.
    if isinstance(module, NCGNNConv):
        module.scale_communicate()
