"""The Structure-Aware Transformer: attention that knows what surrounds each node."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn import BatchNorm1d, Linear, Module, ReLU
from torch_geometric.nn import MLP
from torch_geometric.nn.inits import reset
from torch_geometric.utils import degree, scatter


@dataclass(frozen=True)
class Padding:
    """Where the nodes of a batch stand if every graph has a row for as many as the largest has.

    It is found once for all layers, where :meth:`~torch_geometric.utils.to_dense_batch` would
    look for the largest graph, and so wait for the device, for every tensor anew.

    Attributes:
        place: The place of every node, of shape :obj:`[num_nodes]`.
        mask: Which places are taken, of shape :obj:`[num_graphs, size]`.
    """

    place: Tensor
    mask: Tensor

    @classmethod
    def of(
        cls, batch: Tensor, batch_size: int | None = None, max_num_nodes: int | None = None
    ) -> 'Padding':
        """Finds it.

        Args:
            batch: The graph of every node, in ascending order.
            batch_size: The number of graphs. Without it, the device is waited for.
            max_num_nodes: The size of the largest graph, or more. Likewise.
        """
        if batch_size is None:
            batch_size = int(batch.max()) + 1
        sizes = scatter(torch.ones_like(batch), batch, dim_size=batch_size)
        if max_num_nodes is None:
            max_num_nodes = int(sizes.max())
        places = torch.arange(batch.numel(), device=batch.device)
        place = places + (torch.arange(batch_size, device=batch.device) * max_num_nodes
                          - sizes.cumsum(0) + sizes)[batch]  # fmt: skip
        mask = torch.arange(max_num_nodes, device=batch.device) < sizes[:, None]
        return cls(place, mask)

    def pad(self, x: Tensor) -> Tensor:
        """From shape :obj:`[num_nodes, *]` to :obj:`[num_graphs, size, *]`, with zeros."""
        padded = x.new_zeros(self.mask.numel(), *x.shape[1:]).index_copy(0, self.place, x)
        return padded.view(*self.mask.shape, *x.shape[1:])

    def unpad(self, padded: Tensor) -> Tensor:
        """And back."""
        return padded.flatten(0, 1).index_select(0, self.place)


class SATConv(Module):
    r"""The layer of the `"Structure-Aware Transformer for Graph Representation Learning"
    <https://arxiv.org/abs/2202.03036>`_ paper: attention among all nodes of a graph, whose
    queries and keys come from what an extractor says of the surroundings of each,
    :math:`\mathbf{s}_i`, and a network for each node,

    .. math::
        \mathbf{z}_i &= \mathrm{Norm} \Big( \mathbf{x}_i + c_i \, \mathbf{W}_O \sum_j
        \mathrm{softmax}_j \Big( \frac{\langle \mathbf{W}_Q \mathbf{s}_i, \mathbf{W}_K
        \mathbf{s}_j \rangle}{\sqrt{F / h}} \Big) \mathbf{W}_V \mathbf{x}_j \Big)

        \mathbf{x}^{\prime}_i &= \mathrm{Norm} \left( \mathbf{z}_i + \mathbf{W}_2 \,
        \sigma ( \mathbf{W}_1 \mathbf{z}_i ) \right)

    with :math:`h` heads, each on its own :math:`F / h` channels.

    Args:
        extractor: A :class:`SubtreeExtractor`, a :class:`SubgraphExtractor`, or another module
            that takes node features and what :meth:`forward` is given of the structure.
        channels: The width :math:`F`.
        heads: The number of heads :math:`h`.
        dropout: The share of attention weights, and of what is added to :math:`\mathbf{x}_i` and
            :math:`\mathbf{z}_i`, that is dropped in training.
        act: Makes the activation :math:`\sigma`.
        norm: Makes a normalisation of a given width; :class:`torch.nn.Identity` for none.

    Shapes:
        - **input:** node features :math:`(|\mathcal{V}|, F)`, the graph of every node
          :math:`(|\mathcal{V}|)`, structure, scales :math:`c` :math:`(|\mathcal{V}|, 1)`
          *(optional)*
        - **output:** node features :math:`(|\mathcal{V}|, F)`
    """

    def __init__(
        self,
        extractor: Module,
        channels: int,
        heads: int = 8,
        dropout: float = 0.0,
        act: Callable[[], Module] = ReLU,
        norm: Callable[[int], Module] = BatchNorm1d,
    ) -> None:
        super().__init__()
        if channels % heads:
            raise ValueError(f"'channels' ({channels}) must be a multiple of 'heads' ({heads})")
        self.channels, self.heads, self.dropout = channels, heads, dropout
        self.extractor = extractor
        self.lin_qk = Linear(channels, 2 * channels, bias=False)
        self.lin_v = Linear(channels, channels, bias=False)
        self.lin_out = Linear(channels, channels)
        self.norm1 = norm(channels)
        self.mlp = MLP(
            [channels, 2 * channels, channels], dropout=[dropout, 0.0], act=act(), norm=None
        )
        self.norm2 = norm(channels)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        for module in (self.extractor, self.lin_out, self.norm1, self.mlp, self.norm2):
            reset(module)
        torch.nn.init.xavier_uniform_(self.lin_qk.weight)
        torch.nn.init.xavier_uniform_(self.lin_v.weight)

    def forward(
        self, x: Tensor, batch: Tensor | Padding, *structure: Any, scale: Tensor | None = None
    ) -> Tensor:
        """Runs the forward pass.

        Args:
            x: The node features.
            batch: The graph of every node, or what :meth:`Padding.of` makes of it once for many
                layers.
            *structure: What the extractor takes after the node features.
            scale: What each node's share of the attention is multiplied by.
        """
        padding = batch if isinstance(batch, Padding) else Padding.of(batch)
        out = self.lin_out(self._attend(x, self.extractor(x, *structure), padding))
        if scale is not None:
            out = scale * out
        x = self.norm1(x + F.dropout(out, self.dropout, self.training))
        return self.norm2(x + F.dropout(self.mlp(x), self.dropout, self.training))

    def _attend(self, x: Tensor, s: Tensor, padding: Padding) -> Tensor:
        qkv = torch.cat([self.lin_qk(s), self.lin_v(x)], dim=-1)
        qkv = padding.pad(qkv.view(-1, 3, self.heads, self.channels // self.heads))
        query, key, value = qkv.permute(2, 0, 3, 1, 4)
        out = F.scaled_dot_product_attention(
            query, key, value, padding.mask[:, None, None],
            dropout_p=self.dropout if self.training else 0.0,
        )  # fmt: skip
        return padding.unpad(out.transpose(1, 2)).flatten(1)

    def __repr__(self) -> str:
        return f'{type(self).__name__}({self.channels}, heads={self.heads}, {self.extractor})'


class SAT(Module):
    r"""The network of the `"Structure-Aware Transformer for Graph Representation Learning"
    <https://arxiv.org/abs/2202.03036>`_ paper: layers of :class:`SATConv`, for nodes or graphs.

    Nodes begin with :math:`\mathbf{W} \mathbf{x}_i + \mathbf{W}_{\mathrm{PE}} \mathbf{p}_i +
    \mathbf{b}`, where :math:`\mathbf{p}_i` says how probably random walks return to them (see
    :class:`graphgym_nc.transforms.RandomWalks`). What attention gives is multiplied by
    :math:`c_i = 1 / \sqrt{1 + \deg(i)}`. It is a mean over nodes: where all have the same
    features, it is the same for all, whatever extractors say. Only structure that enters by way
    of :math:`c` or :math:`\mathbf{p}` tells such nodes apart in the first layer.

    Args:
        in_channels: The width of the node features.
        convs: The layers, all of the same width.
        head: What makes scores of vectors of that width; SAT's own is a
            :class:`~torch_geometric.nn.MLP` of two Linear layers.
        walk_length: The width of the random-walk encoding; 0 for none.
        degree_scale: Whether attention is scaled by degrees; otherwise, :math:`c_i = 1`.
        pool: What makes vectors of graphs of those of nodes, such as
            :meth:`~torch_geometric.nn.global_mean_pool`; :obj:`None` to score nodes.
    """

    def __init__(
        self,
        in_channels: int,
        convs: Sequence[SATConv],
        head: Module,
        walk_length: int = 0,
        degree_scale: bool = True,
        pool: Callable[[Tensor, Tensor, int | None], Tensor] | None = None,
    ) -> None:
        super().__init__()
        self.degree_scale, self.pool = degree_scale, pool
        channels = convs[0].channels
        self.lin = Linear(in_channels, channels, bias=False)
        self.lin_pe = Linear(walk_length, channels) if walk_length else None
        self.convs = torch.nn.ModuleList(convs)
        self.head = head

    def reset_parameters(self) -> None:
        for module in (self.lin, self.lin_pe, *self.convs, self.head):
            reset(module)

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor,
        batch: Tensor | None = None,
        pe: Tensor | None = None,
        structure: Sequence[Any] | None = None,
        batch_size: int | None = None,
        max_num_nodes: int | None = None,
    ) -> Tensor:
        """Runs the forward pass.

        Args:
            x: The node features.
            edge_index: The edge indices.
            batch: The graph of every node; one graph if not given.
            pe: The random-walk encoding, of shape :obj:`[num_nodes, walk_length]`.
            structure: What the extractors take after the node features; the edge indices if not
                given.
            batch_size: See :meth:`Padding.of`.
            max_num_nodes: See :meth:`Padding.of`.
        """
        if batch is None:
            batch, batch_size, max_num_nodes = edge_index.new_zeros(x.size(0)), 1, x.size(0)
        padding = Padding.of(batch, batch_size, max_num_nodes)
        x = self.lin(x)
        if self.lin_pe is not None:
            x = x + self.lin_pe(pe)
        scale = None
        if self.degree_scale:
            scale = (1 + degree(edge_index[0], x.size(0), x.dtype)).rsqrt().unsqueeze(-1)
        for conv in self.convs:
            x = conv(x, padding, *(structure or (edge_index,)), scale=scale)
        if self.pool is not None:
            x = self.pool(x, batch, batch_size)
        return self.head(x)
