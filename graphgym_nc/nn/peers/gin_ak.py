from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor
from torch_geometric.nn import MLP, GINEConv
from torch_geometric.nn.inits import reset
from torch_geometric.nn.resolver import activation_resolver, normalization_resolver
from torch_geometric.utils import scatter

from graphgym_nc.structures.subgraphs import Subgraphs
from graphgym_nc.triangles.csr import CSR

#: Distances that have a learned vector of their own; all farther ones share the last. The first
#: vector is that of nodes without a way to the root.
NUM_HOPS = 20


class GINAKConv(torch.nn.Module):
    r"""The GIN-AK and GIN-AK+ operators from the `"From Stars to Subgraphs:
    Uplifting Any GNN with Local Structure Awareness"
    <https://arxiv.org/abs/2110.03753>`_ paper: a GNN runs on the rooted
    subgraph :math:`G_v` of every node, and its outputs, :math:`\mathbf{h}_{u,v}`
    for node :math:`u` in the subgraph of :math:`v`, are pooled in three ways.

    .. math::
        \mathbf{x}^{\prime}_v = \mathrm{MLP} \left( g^{(1)}_{0} \odot
        \mathbf{h}_{v,v} \; \Vert \; \sum_{u \in G_v} g^{(2)}_{d(u,v)} \odot
        f^{(2)}(\mathbf{h}_{u,v}) \; \Vert \; \sum_{w : \, v \in G_w}
        g^{(3)}_{d(v,w)} \odot f^{(3)}(\mathbf{h}_{v,w}) \right)

    They are the centroid, the subgraph and the context. The GNN has layers of
    :class:`~torch_geometric.nn.conv.GINEConv` with BatchNorm, activation and a
    residual connection, and a Linear layer at its end. With
    :obj:`hop_channels`, the gates :math:`g_d = \sigma(\mathbf{W}
    \mathbf{p}_d + \mathbf{b})` depend on a learned vector :math:`\mathbf{p}_d`
    of the distance from the root, which the GNN's input also has; else there
    are none. GIN-AK is that without context and distances.

    If edges have no features, they share a learned vector, and what a node
    sends is the same for all of its edges. Nothing is then stored for each edge
    of a subgraph: memory is
    :math:`\mathcal{O}(\sum_v |G_v| \cdot F + \sum_v |E(G_v)|)`.

    Args:
        in_channels (int): Size of each input sample.
        out_channels (int): Size of each output sample.
        hop_channels (int, optional): Size of :math:`\mathbf{p}_d`; 0 for none.
            (default: :obj:`16`)
        context (bool, optional): Whether there is a context.
            (default: :obj:`True`)
        num_layers (int, optional): Number of layers of the GNN.
            (default: :obj:`1`)
        mlp_layers (int, optional): Number of Linear layers of
            :math:`f^{(2)}`, :math:`f^{(3)}` and of the last MLP.
            (default: :obj:`1`)
        combine (str, optional): Whether the three are concatenated and put
            through an MLP (:obj:`"concat"`), or summed (:obj:`"add"`).
            (default: :obj:`"concat"`)
        pooling (str, optional): How subgraph and context are pooled
            (:obj:`"add"`, :obj:`"mean"` or :obj:`"max"`).
            (default: :obj:`"add"`)
        parallel (bool, optional): Whether a
            :class:`~torch_geometric.nn.conv.GINEConv` on the graph itself is
            added, for subgraphs that do not have all neighbours of their root.
            (default: :obj:`False`)
        edge_dim (int, optional): Size of edge features.
            (default: :obj:`None`)
        edge_types (int, optional): Number of learned vectors of edges without
            features, of which all have the first. (default: :obj:`1`)
        dropout (float, optional): Dropout probability. (default: :obj:`0.`)
        act (str or torch.nn.Module, optional): The activation. (default: :obj:`"relu"`)
        norm (str, optional): The normalization. (default: :obj:`"batch_norm"`)

    Shapes:
        - **input:** node features :math:`(|\mathcal{V}|, F_{in})`,
          edge indices :math:`(2, |\mathcal{E}|)`, subgraphs,
          edge features :math:`(|\mathcal{E}|, D)` *(optional)*
        - **output:** node features :math:`(|\mathcal{V}|, F_{out})`
    """

    def __init__(  # noqa: PLR0913, PLR0917
        self,
        in_channels: int,
        out_channels: int,
        hop_channels: int = 16,
        context: bool = True,
        num_layers: int = 1,
        mlp_layers: int = 1,
        combine: str = 'concat',
        pooling: str = 'add',
        parallel: bool = False,
        edge_dim: int | None = None,
        edge_types: int = 1,
        dropout: float = 0.0,
        act: str | torch.nn.Module = 'relu',
        norm: str | None = 'batch_norm',
    ) -> None:
        super().__init__()
        self.in_channels, self.out_channels = in_channels, out_channels
        self.hop_channels, self.context, self.pooling = hop_channels, context, pooling
        self.dropout = dropout
        width, options = in_channels + hop_channels, {'act': act, 'norm': norm}
        self.edge_encoder: torch.nn.Module
        if edge_dim is None:
            self.edge_encoder = torch.nn.Embedding(edge_types, width)
        else:
            self.edge_encoder = _mlp([edge_dim, width], options, plain_last=False)

        self.convs = torch.nn.ModuleList(_GINE(width, width, options) for _ in range(num_layers))
        self.norms = torch.nn.ModuleList(
            torch.nn.Identity() if norm is None else normalization_resolver(norm, width)
            for _ in range(num_layers)
        )
        self.act = activation_resolver(act)
        self.lin = torch.nn.Identity() if width == out_channels else MLP([width, out_channels])

        sizes = [out_channels] * (mlp_layers + 1)
        parts = ['subgraph', 'context'] if context else ['subgraph']
        self.transforms = torch.nn.ModuleDict(
            {name: _mlp(sizes, options, plain_last=False) for name in parts}
        )
        self.hop_embedding, self.gates = None, torch.nn.ModuleDict()
        if hop_channels > 0:
            self.hop_embedding = torch.nn.Embedding(NUM_HOPS, hop_channels)
            for name in ('centroid', *parts):
                self.gates[name] = torch.nn.Linear(hop_channels, out_channels)
        self.out = None
        if combine == 'concat':
            hidden = [(1 + len(parts)) * out_channels] * mlp_layers
            self.out = _mlp([*hidden, out_channels], options)
        self.parallel = _GINE(in_channels, out_channels, options) if parallel else None

    def reset_parameters(self) -> None:
        """Resets all learnable parameters of the module."""
        for module in self.children():
            reset(module)

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor,
        subgraphs: Subgraphs,
        edge_attr: Tensor | None = None,
        adjacency: CSR | None = None,
    ) -> Tensor:
        """Runs the forward pass.

        Args:
            x: The node features.
            edge_index: The edge indices.
            subgraphs: The rooted subgraphs: of all nodes, or of some.
            edge_attr: The edge features.
            adjacency: The sources of every node's edges, if they are known for many layers.
        """
        size, hop = x.size(0), (subgraphs.hop + 1).clamp(max=NUM_HOPS - 1)
        if edge_attr is None and not isinstance(self.edge_encoder, torch.nn.Embedding):
            raise ValueError("'edge_dim' asks for 'edge_attr'")
        if edge_attr is None:
            edge = cast(Tensor, self.edge_encoder.weight)[0]
        else:
            edge = self.edge_encoder(edge_attr)
        rows = x[subgraphs.index]
        if self.hop_embedding is not None:
            rows = torch.cat([rows, self.hop_embedding(hop)], dim=-1)
        rows = self._inner(rows, subgraphs, edge)

        root = subgraphs.root_row
        centroid = self._gated('centroid', rows[root], hop[root])
        of_subgraph = self._pooled('subgraph', rows, hop, subgraphs.root_index, size)
        if subgraphs.est_weight is not None:
            weight = subgraphs.est_weight.to(rows.dtype).unsqueeze(-1)
            centroid, of_subgraph = _spread(centroid, of_subgraph, subgraphs, weight)
        parts = [centroid, of_subgraph]
        if self.context:
            context = self._pooled('context', rows, hop, subgraphs.index, size)
            if subgraphs.scale is not None and self.pooling == 'add':
                context = context * subgraphs.scale.to(context.dtype).unsqueeze(-1)
            parts.append(context)
        if self.out is None:
            out = torch.stack(parts).sum(dim=0)
        else:
            out = self.out(F.dropout(torch.cat(parts, dim=-1), self.dropout, self.training))
        if self.parallel is not None:
            edge = edge[..., : self.in_channels]
            if edge_attr is not None:
                adjacency = None
            elif adjacency is None:
                adjacency = CSR.from_pairs(edge_index[1], edge_index[0], size, size)
            out = out + self.parallel(x, edge_index, edge, adjacency)
        return out

    def _inner(self, rows: Tensor, subgraphs: Subgraphs, edge: Tensor) -> Tensor:
        """The output of the GNN on all subgraphs."""
        alike = edge.dim() == 1
        adjacency = subgraphs.adjacency if alike else None
        edge = edge if alike else edge[subgraphs.edge]
        for conv, norm in zip(self.convs, self.norms, strict=True):
            out = self.act(norm(conv(rows, subgraphs.edge_index, edge, adjacency)))
            rows = rows + F.dropout(out, self.dropout, self.training)
        return self.lin(rows)

    def _pooled(self, name: str, rows: Tensor, hop: Tensor, index: Tensor, size: int) -> Tensor:
        out = self.transforms[name](F.dropout(rows, self.dropout, self.training))
        return scatter(self._gated(name, out, hop), index, 0, size, reduce=self.pooling)

    def _gated(self, name: str, rows: Tensor, hop: Tensor) -> Tensor:
        if self.hop_embedding is None:
            return rows
        return rows * F.embedding(hop, self.gates[name](self.hop_embedding.weight).sigmoid())

    def __repr__(self) -> str:
        return (
            f'{type(self).__name__}({self.in_channels}, {self.out_channels}, '
            f'hop_channels={self.hop_channels}, context={self.context}, '
            f'num_layers={len(self.convs)})'
        )


class _GINE(GINEConv):
    """GINE, which takes one vector for all edges, too."""

    def __init__(self, in_channels: int, out_channels: int, options: dict[str, Any]) -> None:
        super().__init__(_mlp([in_channels, in_channels, out_channels], options), train_eps=True)
        self.act = activation_resolver(options['act'])

    def forward(
        self, x: Tensor, edge_index: Tensor, edge: Tensor, adjacency: CSR | None
    ) -> Tensor:
        if adjacency is None:
            return super().forward(x, edge_index, edge)
        out = adjacency.row_sum(self.act(x + edge))
        return self.nn(torch.addcmul(out, 1 + self.eps, x))

    def message(self, x_j: Tensor, edge_attr: Tensor) -> Tensor:
        return self.act(x_j + edge_attr)


def _mlp(sizes: list[int], options: dict[str, Any], plain_last: bool = True) -> MLP:
    # What follows has a normalization, if there is one here, and with it a bias.
    return MLP(sizes, bias=options['norm'] is None, plain_last=plain_last, **options)


def _spread(
    centroid: Tensor, of_subgraph: Tensor, subgraphs: Subgraphs, weight: Tensor
) -> tuple[Tensor, Tensor]:
    """Gives all nodes what only some have, by the mean of those that are nearest."""
    root = subgraphs.root_index[subgraphs.root_row]
    known = torch.cat(
        [centroid.new_zeros(of_subgraph.shape).index_copy(0, root, centroid), of_subgraph], dim=-1
    )
    given = known[subgraphs.root_index[subgraphs.est_row]] * weight
    return scatter(given, subgraphs.est_index, 0, known.size(0)).chunk(2, dim=-1)
