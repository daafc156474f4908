"""The layers, as GraphGym knows them."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.graphgym import register
from torch_geometric.graphgym.config import cfg
from torch_geometric.graphgym.models.layer import LayerConfig
from torch_geometric.nn import GINConv, GINEConv
from torch_geometric.utils import is_sparse
from typing_extensions import Self

from graphgym_nc import kernels
from graphgym_nc.graphgym.init import init_weights, torch_weights
from graphgym_nc.graphgym.register import register_once
from graphgym_nc.graphgym.validation import ConfigError, check_nc, select_kernel
from graphgym_nc.nn import NCGNNConv, NCGNNEConv
from graphgym_nc.nn._stages import is_plain, only_sums
from graphgym_nc.triangles.build import neighbours_by_kernels
from graphgym_nc.triangles.csr import CSR
from graphgym_nc.triangles.incidence import TriangleIncidence
from graphgym_nc.triangles.simple_graph import check_edge_index, plain
from graphgym_nc.triangles.twin_pairs import TwinPairs


class _NCLayer(torch.nn.Module):
    """A layer of NC-GNN, with :obj:`nc.communicate_scale`."""

    model: NCGNNConv

    def apply(self, fn: Callable[[torch.nn.Module], None]) -> Self:
        super().apply(fn)
        if fn in (init_weights, torch_weights):  # once all has been built
            scaled = (torch.nn.BatchNorm1d, torch.nn.Linear)
            layers = [m for m in self.model.nn_communicate.modules() if isinstance(m, scaled)]
            layers[-1].weight.data.mul_(cfg.nc.communicate_scale)
        return self


@register_once(register.layer_dict, 'ncgnnconv')
class NCGNNConvLayer(_NCLayer):
    """A layer of NC-GNN: see :class:`graphgym_nc.nn.NCGNNConv`."""

    def __init__(self, layer_config: LayerConfig, **kwargs: Any) -> None:
        super().__init__()
        self.model = NCGNNConv(**_nc_arguments(layer_config))

    def forward(self, batch: Data) -> Data:
        edges = batch.get('twin_pairs') or incidence_of(batch)
        batch.x = self.model(batch.x, batch.edge_index, edges)
        return batch


@register_once(register.layer_dict, 'ncgnneconv')
class NCGNNEConvLayer(_NCLayer):
    """A layer of NC-GNN with edge features: see
    :class:`graphgym_nc.nn.NCGNNEConv`.
    """

    def __init__(self, layer_config: LayerConfig, **kwargs: Any) -> None:
        super().__init__()
        self.edge_dim = _edge_dim(layer_config)
        edge_dim = _projected(self.edge_dim, layer_config)
        self.model = NCGNNEConv(**_nc_arguments(layer_config), edge_dim=edge_dim)

    def forward(self, batch: Data) -> Data:
        edge_attr = _edge_attr(batch, self.edge_dim)
        batch.x = self.model(batch.x, batch.edge_index, edge_attr, incidence_of(batch))
        return batch


@register_once(register.layer_dict, 'nc_ginconv')
class GINBaselineLayer(torch.nn.Module):
    """GIN as the baseline of :obj:`ncgnnconv`: the same MLP1, epsilon and (with
    kernels, see :obj:`nc.kernel`) sum over neighbours, without that over the edges
    among them.
    """

    def __init__(self, layer_config: LayerConfig, **kwargs: Any) -> None:
        super().__init__()
        select_kernel(cfg)
        self.model = GINConv(**_gin_arguments(layer_config))

    def forward(self, batch: Data) -> Data:
        unseen = only_sums(self.model, GINConv) and is_plain(self.model)
        neighbours = neighbours_of(batch) if unseen else None
        if neighbours is None:
            batch.x = self.model(batch.x, batch.edge_index)
        else:
            batch.x = self.model.nn(neighbours.sum_with_self(batch.x, self.model.eps))
        return batch


@register_once(register.layer_dict, 'nc_gineconv')
class GINEBaselineLayer(torch.nn.Module):
    """GINE as the baseline of :obj:`ncgnneconv`."""

    def __init__(self, layer_config: LayerConfig, **kwargs: Any) -> None:
        super().__init__()
        self.edge_dim = _edge_dim(layer_config)
        edge_dim = _projected(self.edge_dim, layer_config)
        self.model = GINEConv(**_gin_arguments(layer_config), edge_dim=edge_dim)

    def forward(self, batch: Data) -> Data:
        batch.x = self.model(batch.x, batch.edge_index, _edge_attr(batch, self.edge_dim))
        return batch


@contextmanager
def twins_alike(batch: Data) -> Iterator[None]:
    """Within this context, layers take nodes with the same neighbours and features for
    the same, on the CPU. For networks that treat all nodes alike, and do not draw anything
    at random for each.
    """
    if not batch.x.requires_grad and kernels.enabled(batch.x, plain(batch.edge_index)):
        batch.twin_pairs = TwinPairs.of(incidence_of(batch), batch.x)
    try:
        yield
    finally:
        batch.pop('twin_pairs', None)


_last = threading.local()


def incidence_of(batch: Data) -> TriangleIncidence:
    """The triangles of a batch, found by the first layer that asks.

    They are kept until another graph comes, so that all layers share them;
    and so do all epochs on a single graph, which GraphGym's loader collates
    anew every time.
    """
    last: TriangleIncidence | None = getattr(_last, 'incidence', None)
    edge_index = batch.edge_index
    if last is None or last.num_nodes != batch.num_nodes or not last.belongs_to(edge_index):
        _last.incidence = _attached(batch) or TriangleIncidence.from_data(batch)
    elif not last.is_of(edge_index) and not edge_index.is_inference():
        # So that no other layer needs to compare them.
        _last.incidence = replace(last, edge_index=edge_index)
    return _last.incidence


def neighbours_of(batch: Data) -> CSR | None:
    """The sum over the neighbours of every node, built by the first layer that asks and
    kept until another graph comes; :obj:`None` where there are no kernels for that.
    """
    if is_sparse(batch.edge_index):
        return None
    edge_index, num_nodes = plain(batch.edge_index), batch.num_nodes
    if not kernels.enabled(edge_index, batch.x):
        return None
    unknown = edge_index.is_inference()  # whether it has changed
    kept: _Neighbours | None = getattr(_last, 'neighbours', None)
    if unknown or kept is None or not kept.are_of(edge_index, num_nodes):
        check_edge_index(edge_index, num_nodes)
        with torch.inference_mode(False):  # it may serve in training yet
            matrix = neighbours_by_kernels(edge_index, num_nodes)
        kept = _Neighbours(matrix, edge_index, 0 if unknown else edge_index._version)
        _last.neighbours = kept
    return kept.matrix


class _Neighbours(NamedTuple):
    """What :meth:`neighbours_of` has built, and what from."""

    matrix: CSR
    edge_index: Tensor
    version: int

    def are_of(self, edge_index: Tensor, num_nodes: int) -> bool:
        """Whether they were built from this very tensor, unchanged since."""
        return (
            edge_index is self.edge_index
            and edge_index._version == self.version
            and self.matrix.num_rows == num_nodes
        )


def _attached(batch: Data) -> TriangleIncidence | None:
    """What the loader has found, if it still belongs to the batch."""
    incidence = batch.get('triangle_incidence')
    if incidence is None or incidence.num_nodes != batch.num_nodes:
        return None
    if not incidence.belongs_to(batch.edge_index):
        return None
    return replace(incidence, edge_index=batch.edge_index)


def _gin_arguments(layer_config: LayerConfig) -> dict[str, Any]:
    check_nc(cfg)
    nn = _mlp(layer_config, layer_config.dim_out)
    return {'nn': nn, 'eps': cfg.nc.eps, 'train_eps': cfg.nc.train_eps}


def _nc_arguments(layer_config: LayerConfig) -> dict[str, Any]:
    select_kernel(cfg)
    nn_communicate = _mlp(layer_config, layer_config.dim_in)
    return {
        **_gin_arguments(layer_config),
        'nn_communicate': nn_communicate,
        'communicate_aggr': cfg.nc.communicate_aggr,
    }


def _mlp(layer_config: LayerConfig, dim_out: int) -> torch.nn.Sequential:
    """MLP1 or MLP2, as :obj:`cfg.nc` describes them.

    Both are as wide inside as the layer's output, or a multiple of it: the
    thousands of input features of a citation network squared would be too many
    parameters.
    """
    number, inner = cfg.nc.mlp_layers, cfg.nc.mlp_expansion * layer_config.dim_out
    widths = [layer_config.dim_in, *[inner] * (number - 1), dim_out]
    modules: list[torch.nn.Module] = []
    for i, (fan_in, fan_out) in enumerate(pairwise(widths)):
        modules.append(torch.nn.Linear(fan_in, fan_out))
        if i == number - 1 and not cfg.nc.mlp_final_act:
            break
        if cfg.nc.mlp_batchnorm:
            bn_args = {'eps': layer_config.bn_eps, 'momentum': layer_config.bn_mom}
            modules.append(torch.nn.BatchNorm1d(fan_out, **bn_args))
        modules.append(register.act_dict[layer_config.act]())
    return torch.nn.Sequential(*modules)


def _edge_dim(layer_config: LayerConfig) -> int:
    """The width of the edge features that a layer will see."""
    return cfg.gnn.dim_inner if cfg.dataset.edge_encoder else layer_config.edge_dim


def _projected(edge_dim: int, layer_config: LayerConfig) -> int | None:
    """The width of edge features that need a projection, *i.e.* are raw or
    (with :obj:`stage_type: skipconcat`) narrower than the node features.
    """
    needless = cfg.dataset.edge_encoder and edge_dim == layer_config.dim_in
    return None if needless else edge_dim


def _edge_attr(batch: Data, edge_dim: int) -> Tensor:
    """The edge features of a batch, zeros if there are none."""
    edge_attr = batch.get('edge_attr')
    if edge_attr is None:
        return batch.x.new_zeros(batch.edge_index.size(1), edge_dim)
    edge_attr = edge_attr.view(edge_attr.size(0), -1).to(batch.x.dtype)
    if edge_attr.size(1) != edge_dim:
        raise ConfigError(
            f"'dataset.edge_dim' is {edge_dim}, but the edge features have "
            f"{edge_attr.size(1)} columns; set 'dataset.edge_dim: {edge_attr.size(1)}', or "
            f"encode them with 'dataset.edge_encoder: True'"
        )
    return edge_attr
