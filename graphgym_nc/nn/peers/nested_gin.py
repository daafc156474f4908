from collections.abc import Callable

import torch
from torch import Tensor
from torch_geometric.nn import MLP, GINConv
from torch_geometric.nn.inits import reset
from torch_geometric.utils import scatter

from graphgym_nc.structures.subgraphs import Subgraphs

#: Labels of the nodes of a subgraph, and how many columns they have.
LABELS = {'none': 0, 'hop': 1, 'spd': 2}


class NestedGNN(torch.nn.Module):
    r"""The Nested GNN from the `"Nested Graph Neural Networks"
    <https://arxiv.org/abs/2110.13197>`_ paper: a GNN on the rooted subgraph
    :math:`G_v` of every node, whose layers are concatenated and pooled to be
    the node's embedding.

    .. math::
        \mathbf{h}_{u,v}^{(0)} = \mathbf{x}_u \, \Vert \, \mathbf{z}_{u,v}
        \qquad
        \mathbf{h}_{\cdot,v}^{(l)} = \mathrm{GNN}^{(l)} \left(
        \mathbf{h}_{\cdot,v}^{(l-1)}, G_v \right) \qquad
        \mathbf{x}^{\prime}_v = \frac{1}{|G_v|} \sum_{u \in G_v} \left(
        \mathbf{h}_{u,v}^{(1)} \, \Vert \ldots \Vert \,
        \mathbf{h}_{u,v}^{(L)} \right)

    The paper pools nodes into graphs by their mean, too. That is left to
    :meth:`~torch_geometric.nn.pool.global_mean_pool`.

    :math:`\mathbf{z}_{u,v}` is the sum of learned vectors, one for each column
    of labels:

    - :obj:`"hop"`: the distance :math:`d` of :math:`u` from the root.
    - :obj:`"spd"`: as in the authors' code, :math:`d + 1`; and :math:`d + 1`
      again if two or more edges lead from :math:`u` to nodes that are one step
      nearer to the root, else 0. (They call it the two shortest distances.)

    In a forward pass, memory is that of all subgraphs:
    :math:`\mathcal{O}(\sum_v |G_v| \cdot L F + \sum_v |E(G_v)| \cdot F)`.

    Args:
        in_channels (int): Size of each input sample.
        hidden_channels (int): Size of the output of every layer.
        num_layers (int): Number of layers :math:`L`.
        conv (callable, optional): Makes a layer from the sizes of its input
            and output. The layer takes :obj:`x`, :obj:`edge_index` and, if
            there are some, :obj:`edge_attr`. By default, it is
            :class:`~torch_geometric.nn.conv.GINConv` with two Linear layers,
            BatchNorm and ReLU after each. (default: :obj:`None`)
        labels (str, optional): Labels of nodes within a subgraph
            (:obj:`"none"`, :obj:`"hop"` or :obj:`"spd"`).
            (default: :obj:`"none"`)
        hops (int, optional): The largest distance from a root. Nodes that are
            farther, or not to be reached, have the label of the next.
            (default: :obj:`3`)
        label_channels (int, optional): Size of :math:`\mathbf{z}_{u,v}`.
            (default: :obj:`8`)
        pooling (str, optional): How a subgraph is pooled. (default:
            :obj:`"mean"`)

    Shapes:
        - **input:** node features :math:`(|\mathcal{V}|, F_{in})`, subgraphs,
          edge features :math:`(|\mathcal{E}|, D)` *(optional)*
        - **output:** node features :math:`(|\mathcal{V}|, L \cdot F)`
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        num_layers: int,
        conv: Callable[[int, int], torch.nn.Module] | None = None,
        labels: str = 'none',
        hops: int = 3,
        label_channels: int = 8,
        pooling: str = 'mean',
    ) -> None:
        super().__init__()
        if labels not in LABELS:
            raise ValueError(f"'labels' must be one of {', '.join(LABELS)} (got '{labels}')")
        self.in_channels, self.hidden_channels = in_channels, hidden_channels
        self.labels, self.hops, self.pooling = labels, hops, pooling
        self.embedding: torch.nn.Embedding | None = None
        if labels != 'none':
            self.embedding = torch.nn.Embedding(hops + 3, label_channels)
            in_channels += label_channels
        sizes = [in_channels, *[hidden_channels] * num_layers]
        make = conv or _gin
        self.convs = torch.nn.ModuleList(map(make, sizes[:-1], sizes[1:]))

    @property
    def out_channels(self) -> int:
        """The size of a node's embedding."""
        return len(self.convs) * self.hidden_channels

    def reset_parameters(self) -> None:
        """Resets all learnable parameters of the module."""
        for module in self.children():
            reset(module)

    def forward(self, x: Tensor, subgraphs: Subgraphs, edge_attr: Tensor | None = None) -> Tensor:
        """Runs the forward pass.

        Args:
            x: The node features.
            subgraphs: The rooted subgraphs of all nodes.
            edge_attr: The edge features of the graph.
        """
        rows = x[subgraphs.index]
        if self.embedding is not None:
            z = self.embedding(node_labels(subgraphs, self.labels, self.hops)).sum(dim=1)
            rows = torch.cat([z.to(rows.dtype), rows], dim=-1)
        edges = () if edge_attr is None else (edge_attr[subgraphs.edge],)
        outputs = []
        for conv in self.convs:
            rows = conv(rows, subgraphs.edge_index, *edges)
            outputs.append(rows)
        out = torch.cat(outputs, dim=-1)
        return scatter(out, subgraphs.root_index, 0, x.size(0), reduce=self.pooling)

    def __repr__(self) -> str:
        return (
            f'{type(self).__name__}({self.in_channels}, {self.hidden_channels}, '
            f"num_layers={len(self.convs)}, labels='{self.labels}')"
        )


def node_labels(subgraphs: Subgraphs, labels: str, hops: int) -> Tensor:
    """The labels of all rows, of shape :obj:`[num_rows, columns]`: see :class:`NestedGNN`."""
    hop = subgraphs.hop
    distance = torch.where(hop < 0, hops + 1, hop.clamp(max=hops + 1))
    if labels == 'hop':
        return distance.unsqueeze(1)
    sender, receiver = subgraphs.edge_index
    nearer = (hop[receiver] == hop[sender] - 1) & (hop[receiver] >= 0)
    ways = torch.zeros_like(hop).index_add(0, sender, nearer.long())
    return torch.stack([distance + 1, torch.where(ways > 1, distance + 1, 0)], dim=1)


def _gin(in_channels: int, out_channels: int) -> GINConv:
    mlp = MLP([in_channels, out_channels, out_channels], plain_last=False)
    return GINConv(mlp, train_eps=True)
