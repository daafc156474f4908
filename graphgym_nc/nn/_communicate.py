"""The sum over the edges among a node's neighbours, at the cost of the edges
alone.
"""

from collections.abc import Callable, Sequence
from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn import BatchNorm1d, ReLU
from torch.nn.modules.batchnorm import _BatchNorm

from graphgym_nc import kernels
from graphgym_nc.nn._linear_batch_norm import LinearBatchNorm
from graphgym_nc.nn._stages import Stage, all_fit, as_stages, flatten, is_plain, is_plain_linear
from graphgym_nc.nn._weighted_batch_norm import CountRows, RowCount, apply_batch_norm
from graphgym_nc.nn.sync_batch_norm import SYNCHRONIZED, synchronized_batch_norm
from graphgym_nc.triangles.incidence import TriangleIncidence
from graphgym_nc.triangles.merged_edges import Edges, MergedEdges
from graphgym_nc.utils.autograd import apply
from graphgym_nc.utils.distributed import world_size


def communicate(
    nn: torch.nn.Module,
    x: Tensor,
    incidence: Edges,
    edge_attr: Tensor | None = None,
    aggr: Callable[[Tensor, Edges], Tensor] | None = None,
    weight_after: Tensor | None = None,
) -> Tensor:
    r"""Sums :obj:`nn` over the edges among every node's neighbours,

    .. math::
        \mathbf{c}_i = \sum_{\{j, k\} \in \mathcal{E}, \; j, k \in
        \mathcal{N}(i)} h(\mathbf{x}_j + \mathbf{x}_k + \mathbf{e}_{jk}).

    The result is that of a sum over all :math:`3T` messages of the
    :math:`T` triangles, but none of them is ever materialised:

    1. A message depends on its edge alone, so :math:`h` runs once per edge,
       for all triangles on that edge.
    2. BatchNorm in :math:`h` counts every edge as often as it sends a message.
    3. A first :class:`~torch.nn.Linear` of :math:`h` runs before the sum over
       the two ends of an edge, and a last one after the sum over edges,
       wherever there are fewer nodes than edges.

    Dropout in :math:`h` is drawn once per edge, and layers other than BatchNorm
    that mix rows (such as :class:`torch_geometric.nn.GraphNorm`) see every edge
    once. :math:`h` must bear an input of no rows, for graphs without triangles.

    Args:
        nn: The network :math:`h`.
        x: The node features, of shape :obj:`[num_nodes, channels]`.
        incidence: The triangles.
        edge_attr: Features of the edges in :obj:`incidence`, of shape
            :obj:`[num_edges, channels]`.
        aggr: What to make of the sums, given the edges.
        weight_after: The weight of a Linear layer that is to follow, of shape
            :obj:`[channels_after, channels]`. For few edges, to run before the sum.

    Returns:
        The sums, of shape :obj:`[num_nodes, channels]`, or :obj:`channels_after`.
    """
    _check_shapes(x, incidence, edge_attr)
    out = _sum_over_edges(nn, x, incidence, edge_attr, weight_after)
    if weight_after is None:
        _check_width(out.size(1), x.size(1))
    return (out if aggr is None else aggr(out, incidence)).to(x.dtype)


def _sum_over_edges(
    nn: torch.nn.Module,
    x: Tensor,
    incidence: Edges,
    edge_attr: Tensor | None,
    weight_after: Tensor | None,
) -> Tensor:
    """See :meth:`communicate`; in single precision at least."""
    layers = list(flatten(nn))
    by_triton = kernels.by_triton(x)
    by_kernels = by_triton or _kernels_serve(x, incidence, edge_attr)
    stages = as_stages(layers) if by_kernels or incidence.num_edges == 0 else None
    if stages is not None and weight_after is not None:
        stages.append(Stage.product(weight_after))
    if stages is not None and incidence.num_edges == 0:
        parameters = [tensor for stage in stages for tensor in stage.parameters]
        return cast(Tensor, apply(_NoMessages, x, stages[-1].width, *parameters))
    if stages is not None and by_triton:
        from graphgym_nc.nn._triton import communicate_by_triton, stages_fit

        if stages_fit(stages, x):
            return communicate_by_triton(stages, x, incidence, edge_attr)
    elif stages is not None and all_fit(stages, x.size(1)):
        from graphgym_nc.nn._lean import communicate_lean, is_lean

        if edge_attr is None and is_lean(stages, incidence):
            return communicate_lean(stages, x, incidence)
        from graphgym_nc.nn._fused import communicate_fused

        return communicate_fused(stages, x, incidence, edge_attr)
    per_node = incidence.num_nodes < incidence.num_edges
    pull_out = (
        per_node and weight_after is None and len(layers) > 1 and is_plain_linear(layers[-1])
    )
    last = layers.pop() if pull_out else None
    z, layers = _onto_edges(layers, x, incidence, edge_attr)
    z = _over_edges(layers, z, incidence)
    if weight_after is not None:
        _check_width(z.size(1), weight_after.size(1))
        z = F.linear(z, weight_after)

    # A node may have more messages than half precision can count.
    z = z.float() if z.dtype in (torch.float16, torch.bfloat16) else z
    out = incidence.sum_opposite(z)
    if last is not None:
        weight, bias = _parameters(last)
        dtype = out.dtype
        out = F.linear(out, weight.to(dtype)).to(dtype)
        if bias is not None:
            out = torch.addcmul(out, incidence.messages[:, None].to(dtype), bias.to(dtype))
    return out


def _onto_edges(
    layers: list[torch.nn.Module],
    x: Tensor,
    incidence: Edges,
    edge_attr: Tensor | None,
) -> tuple[Tensor, list[torch.nn.Module]]:
    """The rows of edges, after a first Linear layer and what can run with it, if there are
    fewer nodes; and the layers that are left.
    """
    per_node = incidence.num_nodes < incidence.num_edges
    if not (per_node and edge_attr is None and layers and is_plain_linear(layers[0])):
        z = incidence.endpoints.row_sum(x)
        return z if edge_attr is None else z + edge_attr, layers
    block = LinearBatchNorm.of(layers, x)
    if block is not None:
        rest = layers[block.length :]
        return block.over_nodes(x, incidence, again=not rest), rest
    weight, bias = _parameters(layers[0])
    half = bias if bias is None else bias / 2  # of either end
    return incidence.endpoints.row_sum(F.linear(x, weight, half)), layers[1:]


def _over_edges(layers: Sequence[torch.nn.Module], z: Tensor, incidence: Edges) -> Tensor:
    """Runs layers on rows of edges."""
    count = RowCount(incidence.weight, incidence.num_messages)
    i = 0
    while i < len(layers):
        block = LinearBatchNorm.of(layers[i : i + 3], z) if incidence.num_messages > 0 else None
        if block is not None:
            z, i = block.over_edges(z, incidence), i + block.length
            continue
        # BatchNorm does not need its output again.
        in_place = i > 0 and _is_plain(layers[i - 1], BatchNorm1d) and _is_plain(layers[i], ReLU)
        z, i = z.relu_() if in_place else _call(layers[i], z, count), i + 1
    return z


def _is_plain(layer: torch.nn.Module, cls: type[torch.nn.Module]) -> bool:
    return type(layer) is cls and is_plain(layer)


def merge_equal(nn: torch.nn.Module, x: Tensor, incidence: TriangleIncidence) -> Edges:
    """Edges that are the same to a network, as one, if it is known that they are: it
    consists of layers that treat every row alike, and BatchNorm.
    """
    edges = incidence.pairs or incidence
    if edges is incidence and not MergedEdges.may_pay(edges, x):
        return edges
    _check_shapes(x, edges, None)  # before any row is read
    if as_stages(list(flatten(nn))) is None:
        return incidence
    return MergedEdges.by_features(edges, x)


def _check_shapes(x: Tensor, incidence: Edges, edge_attr: Tensor | None) -> None:
    if x.dim() != 2:
        raise ValueError(f"'x' must have shape [num_nodes, channels] (got {list(x.shape)})")
    if x.size(0) != incidence.num_nodes:
        raise ValueError(
            f"'x' has {x.size(0)} rows, but the triangles belong to a graph of "
            f'{incidence.num_nodes} nodes'
        )
    if edge_attr is not None and edge_attr.shape != (incidence.num_edges, x.size(1)):
        raise ValueError(
            f"'edge_attr' must have shape {[incidence.num_edges, x.size(1)]}, for the edges on "
            f"triangles and as wide as 'x' (got {list(edge_attr.shape)})"
        )


def _check_width(width: int, expected: int) -> None:
    """Makes sure that what comes out of a network over edges can be added to nodes."""
    if width != expected:
        raise ValueError(
            f"'nn_communicate' must map to as many channels as the layer's input has "
            f'({expected}, got {width})'
        )


class _NoMessages(torch.autograd.Function):
    """Zeros, with zeros for the gradients of all parameters: as those of a network
    over no rows, and as training on several devices demands.
    """

    @staticmethod
    def forward(x: Tensor, width: int, *parameters: Tensor | None) -> Tensor:
        return x.new_zeros(x.size(0), width)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.save_for_backward(inputs[0], *inputs[2:])

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, *zeros = (t if t is None else torch.zeros_like(t) for t in ctx.saved_tensors)
        return x, None, *zeros


def _kernels_serve(x: Tensor, incidence: Edges, edge_attr: Tensor | None) -> bool:
    """Whether there are kernels for such features and indices."""
    features = (x,) if edge_attr is None else (x, edge_attr)
    return (
        kernels.enabled(incidence.weight, *features)
        and all(tensor.dtype == torch.float32 for tensor in features)
        and incidence.endpoints.col.dtype == incidence.weight.dtype == torch.int32
        and not torch.is_autocast_enabled('cpu')
        and kernels.on_all_threads()
    )


def _call(layer: torch.nn.Module, z: Tensor, count: RowCount) -> Tensor:
    if type(layer) is torch.nn.BatchNorm1d and is_plain(layer):
        return apply_batch_norm(layer, z, count)
    if type(layer) in SYNCHRONIZED and is_plain(layer):
        return synchronized_batch_norm(cast(_BatchNorm, layer), z, count)
    if type(layer).__module__.startswith('torch.nn.modules') and not _has_batch_norm(layer):
        return layer(z)
    return _call_unseen(layer, z, count)


@torch.compiler.disable  # type: ignore[untyped-decorator]
def _call_unseen(layer: torch.nn.Module, z: Tensor, count: RowCount) -> Tensor:
    """Calls a module that may have BatchNorm anywhere inside."""
    if any(isinstance(m, torch.nn.SyncBatchNorm) for m in layer.modules()) and world_size() > 1:
        raise NotImplementedError(
            f"the 'SyncBatchNorm' of torch inside of a '{type(layer).__name__}' in "
            f"'nn_communicate' cannot count messages; use that of 'graphgym_nc.nn'"
        )
    with CountRows(count):
        return layer(z)


def _has_batch_norm(layer: torch.nn.Module) -> bool:
    return any(isinstance(module, _BatchNorm) for module in layer.modules())


def _parameters(linear: torch.nn.Module) -> tuple[Tensor, Tensor | None]:
    return cast(Tensor, linear.weight), cast(Tensor | None, linear.bias)
