"""The layers, as GraphGym knows them."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.graphgym import init, register
from torch_geometric.graphgym.config import cfg
from torch_geometric.graphgym.models.layer import LayerConfig
from torch_geometric.nn import GINConv, GINEConv
from torch_geometric.utils import is_sparse
from typing_extensions import Self

from graphgym_nc import kernels
from graphgym_nc.graphgym.init import init_weights
from graphgym_nc.graphgym.register import register_once
from graphgym_nc.graphgym.validation import ConfigError, check_nc
from graphgym_nc.nn import NCGNNConv, NCGNNEConv
from graphgym_nc.nn._stages import is_plain, only_sums
from graphgym_nc.triangles.build import neighbours_by_kernels
from graphgym_nc.triangles.csr import CSR
from graphgym_nc.triangles.incidence import TriangleIncidence
from graphgym_nc.triangles.simple_graph import check_edge_index, plain
from graphgym_nc.triangles.twin_pairs import TwinPairs


def kernels_of(choice: str) -> AbstractContextManager[None]:
    """A context that computes as :obj:`nc.kernel` says.

    Raises:
        ConfigError: If that cannot be.
    """
    if choice == 'auto':
        return nullcontext()
    try:
        return kernels.use(choice)
    except ImportError as error:
        raise ConfigError(f"'nc.kernel': {error}") from error


class _Layer(torch.nn.Module):
    """A layer that computes as :obj:`nc.kernel` says, a batch in and a batch out."""

    def __init__(self) -> None:
        super().__init__()
        check_nc(cfg)
        self.kernel = cfg.nc.kernel
        with kernels_of(self.kernel):  # or tell now that this cannot be
            pass

    def forward(self, batch: Data) -> Data:
        with kernels_of(self.kernel):
            batch.x = self.update(batch)
        return batch

    def update(self, batch: Data) -> Tensor:
        """The new features of all nodes."""
        raise NotImplementedError

    def apply(self, fn: Callable[[torch.nn.Module], None]) -> Self:
        # What GraphGym's networks call as their last step knows none of our layers.
        return super().apply(init_weights if fn is init.init_weights else fn)


class _EdgeLayer(_Layer):
    """A layer that also takes edge features."""

    def __init__(
        self,
        layer_config: LayerConfig,
        operator: Callable[..., torch.nn.Module],
        arguments: Callable[[LayerConfig], dict[str, Any]],
    ) -> None:
        super().__init__()
        encoded = cfg.dataset.edge_encoder
        self.edge_dim = cfg.gnn.dim_inner if encoded else layer_config.edge_dim
        # Raw features are projected, and those that (with `stage_type: skipconcat`) are narrower
        # than the node features.
        needless = encoded and self.edge_dim == layer_config.dim_in
        edge_dim = None if needless else self.edge_dim
        self.model = operator(**arguments(layer_config), edge_dim=edge_dim)

    def edge_attr(self, batch: Data) -> Tensor:
        """The edge features of a batch, zeros if there are none."""
        edge_attr = batch.get('edge_attr')
        if edge_attr is None:
            return batch.x.new_zeros(batch.edge_index.size(1), self.edge_dim)
        edge_attr = edge_attr.view(edge_attr.size(0), -1).to(batch.x.dtype)
        if edge_attr.size(1) != self.edge_dim:
            raise ConfigError(
                f"'dataset.edge_dim' is {self.edge_dim}, but the edge features have "
                f"{edge_attr.size(1)} columns; set 'dataset.edge_dim: {edge_attr.size(1)}', or "
                f"encode them with 'dataset.edge_encoder: True'"
            )
        return edge_attr


@register_once(register.layer_dict, 'ncgnnconv')
class NCGNNConvLayer(_Layer):
    """A layer of NC-GNN: see :class:`graphgym_nc.nn.NCGNNConv`."""

    def __init__(self, layer_config: LayerConfig, **kwargs: Any) -> None:
        super().__init__()
        self.model = NCGNNConv(**_nc_arguments(layer_config))

    def update(self, batch: Data) -> Tensor:
        incidence = incidence_of(batch, self)  # which may replace the edges
        return self.model(batch.x, batch.edge_index, incidence)


@register_once(register.layer_dict, 'ncgnneconv')
class NCGNNEConvLayer(_EdgeLayer):
    """A layer of NC-GNN with edge features: see
    :class:`graphgym_nc.nn.NCGNNEConv`.
    """

    def __init__(self, layer_config: LayerConfig, **kwargs: Any) -> None:
        super().__init__(layer_config, NCGNNEConv, _nc_arguments)

    def update(self, batch: Data) -> Tensor:
        edge_attr, incidence = self.edge_attr(batch), incidence_of(batch, self)
        return self.model(batch.x, batch.edge_index, edge_attr, incidence)


@register_once(register.layer_dict, 'nc_ginconv')
class GINBaselineLayer(_Layer):
    """GIN as the baseline of :obj:`ncgnnconv`: the same MLP1, epsilon and (with
    kernels, see :obj:`nc.kernel`) sum over neighbours, without that over the edges
    among them.
    """

    def __init__(self, layer_config: LayerConfig, **kwargs: Any) -> None:
        super().__init__()
        self.model = GINConv(**_gin_arguments(layer_config))

    def update(self, batch: Data) -> Tensor:
        unseen = only_sums(self.model, GINConv) and is_plain(self.model)
        neighbours = neighbours_of(batch) if unseen else None
        if neighbours is None:
            return self.model(batch.x, batch.edge_index)
        return self.model.nn(neighbours.sum_with_self(batch.x, self.model.eps))


@register_once(register.layer_dict, 'nc_gineconv')
class GINEBaselineLayer(_EdgeLayer):
    """GINE as the baseline of :obj:`ncgnneconv`."""

    def __init__(self, layer_config: LayerConfig, **kwargs: Any) -> None:
        super().__init__(layer_config, GINEConv, _gin_arguments)

    def update(self, batch: Data) -> Tensor:
        return self.model(batch.x, batch.edge_index, self.edge_attr(batch))


@contextmanager
def twins_alike(batch: Data, kernel: str) -> Iterator[None]:
    """Within this context, layers take nodes with the same neighbours and features for
    the same, on the CPU. For networks that treat all nodes alike, and do not draw anything
    at random for each.

    Args:
        batch: The batch.
        kernel: The layers' :obj:`nc.kernel`.
    """
    incidence = None
    with kernels_of(kernel):
        if not batch.x.requires_grad and kernels.enabled(batch.x, plain(batch.edge_index)):
            incidence = incidence_of(batch)
            pairs = TwinPairs.of(incidence, batch.x)
            batch.triangle_incidence = replace(incidence, pairs=pairs)
    try:
        yield
    finally:
        if incidence is not None:
            batch.triangle_incidence = incidence


#: All that is kept from one batch to the next: the triangles of the last batch of a single
#: graph, by the layer that asked for them first. GraphGym collates such a graph anew in every
#: epoch. They are gone with the layer.
_of_single_graph: WeakKeyDictionary[torch.nn.Module, TriangleIncidence] = WeakKeyDictionary()


def incidence_of(batch: Data, layer: torch.nn.Module | None = None) -> TriangleIncidence:
    """The triangles of a batch: those that came with it, or are found by the first layer
    that asks. They stay with the batch, for all layers after it.
    """
    _note_changes(batch)
    incidence = _if_of(batch, batch.get('triangle_incidence'))
    if incidence is not None:
        return incidence
    keeper = layer if getattr(batch, 'num_graphs', 1) == 1 else None
    if keeper is not None:
        incidence = _if_of(batch, _of_single_graph.get(keeper))
    if incidence is None:
        incidence = TriangleIncidence.from_data(batch)
    if keeper is not None:
        _of_single_graph[keeper] = incidence
    batch.triangle_incidence = incidence
    return incidence


def _if_of(batch: Data, incidence: Any) -> TriangleIncidence | None:
    """An incidence, if it is one, and that of a batch."""
    belongs = (
        isinstance(incidence, TriangleIncidence)
        and incidence.num_nodes == (batch.num_nodes if batch.x is None else batch.x.size(0))
        and incidence.belongs_to(batch.edge_index)
    )
    return incidence if belongs else None


def neighbours_of(batch: Data) -> CSR | None:
    """The sum over the neighbours of every node, built by the first layer that asks, and
    attached to the batch; :obj:`None` where there are no kernels for that.
    """
    if is_sparse(batch.edge_index):
        return None
    _note_changes(batch)
    edge_index, num_nodes = plain(batch.edge_index), batch.num_nodes
    if not kernels.enabled(edge_index, batch.x):
        return None
    kept = batch.get('neighbour_sum')
    if not isinstance(kept, _Neighbours) or not kept.are_of(edge_index, num_nodes):
        check_edge_index(edge_index, num_nodes)
        with torch.inference_mode(False):  # it may serve in training yet
            matrix = neighbours_by_kernels(edge_index, num_nodes)
        batch.neighbour_sum = kept = _Neighbours(matrix, edge_index, edge_index._version)
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


def _note_changes(batch: Data) -> None:
    """Clones the edges of a batch that were made in inference mode. Such tensors have no
    version, so a change cannot be noticed. The clone has one.
    """
    if torch.compiler.is_compiling() or batch.edge_index is None:
        return
    if batch.edge_index.is_inference():
        with torch.inference_mode(False):
            batch.edge_index = batch.edge_index.clone()


def _gin_arguments(layer_config: LayerConfig) -> dict[str, Any]:
    nn = _mlp(layer_config, layer_config.dim_out, cfg.nc.mlp_layers, cfg.nc.mlp_final_act)
    return {'nn': nn, 'eps': cfg.nc.eps, 'train_eps': cfg.nc.train_eps}


def _nc_arguments(layer_config: LayerConfig) -> dict[str, Any]:
    number = cfg.nc.mlp2_layers or cfg.nc.mlp_layers
    final_act = cfg.nc.mlp_final_act and not cfg.nc.mlp2_plain_last
    nn_communicate = _mlp(layer_config, layer_config.dim_in, number, final_act)
    aggr = cfg.nc.communicate_aggr
    return {
        **_gin_arguments(layer_config),
        'nn_communicate': nn_communicate,
        'communicate_aggr': cfg.nc.communicate_power if aggr == 'power' else aggr,
        'communicate_scale': cfg.nc.communicate_scale,
        'communicate_log': cfg.nc.communicate_log,
    }


def _mlp(
    layer_config: LayerConfig, dim_out: int, number: int, final_act: bool
) -> torch.nn.Sequential:
    """MLP1 or MLP2, as :obj:`cfg.nc` describes them, of a number of Linear layers.

    Both are as wide inside as the layer's output, or a multiple of it: the
    thousands of input features of a citation network squared would be too many
    parameters.
    """
    inner = cfg.nc.mlp_expansion * layer_config.dim_out
    widths = [layer_config.dim_in, *[inner] * (number - 1), dim_out]
    modules: list[torch.nn.Module] = []
    for i, (fan_in, fan_out) in enumerate(pairwise(widths)):
        modules.append(torch.nn.Linear(fan_in, fan_out))
        if i == number - 1 and not final_act:
            break
        after = [register.act_dict[layer_config.act]()]
        if cfg.nc.mlp_batchnorm:
            bn_args = {'eps': layer_config.bn_eps, 'momentum': layer_config.bn_mom}
            after.insert(cfg.nc.mlp_act_first, torch.nn.BatchNorm1d(fan_out, **bn_args))
        modules += after
    return torch.nn.Sequential(*modules)
