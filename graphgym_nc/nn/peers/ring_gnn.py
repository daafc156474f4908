import math

import torch
import torch.nn.functional as F
from torch import Tensor
from torch_geometric.nn import MLP
from torch_geometric.nn.inits import reset

from graphgym_nc.nn.peers._pairs import PairNetwork, Pairs, num_inputs, padding, without

# Where maps stand among the 15: those to the diagonal, along rows and along columns that take a
# value of each node, those to the diagonal and to all pairs that take one of the graph, and the
# two that take pairs.
_TO_DIAGONAL, _ALONG_ROWS, _ALONG_COLUMNS = slice(0, 3), slice(5, 8), slice(8, 11)
_OF_GRAPH_TO_DIAGONAL, _OF_GRAPH = slice(3, 5), slice(11, 13)
_SAME, _TRANSPOSED = 13, 14


class RingGNNConv(torch.nn.Module):
    r"""The layer of the `"On the Equivalence between Graph Isomorphism Testing and
    Function Approximation with GNNs" <https://arxiv.org/abs/1905.12560>`_ paper.

    .. math::
        \mathbf{X}^{\prime} = k_1 L_0(\mathbf{X}) + k_2 \, L_2(\mathbf{X}) \cdot
        L_1(\mathbf{X}) + \mathbf{b}

    Each :math:`L` is a linear combination of all 15 linear maps between :math:`n \times n`
    matrices that commute with permutations of the nodes. With
    :math:`r_i = \frac{1}{n} \sum_k X_{ik}`, :math:`c_i = \frac{1}{n} \sum_k X_{ki}`,
    :math:`t = \frac{1}{n} \sum_k X_{kk}` and :math:`s = \frac{1}{n^2} \sum_{k, l} X_{kl}`, they
    are, in the order of :obj:`weight`:

    ======== ======================================================
    1 to 5   :math:`Y_{ii} = X_{ii}, \; r_i, \; c_i, \; t, \; s`
    6 to 8   :math:`Y_{ij} = X_{ii}, \; r_i, \; c_i`
    9 to 11  :math:`Y_{ij} = X_{jj}, \; r_j, \; c_j`
    12, 13   :math:`Y_{ij} = t, \; s`
    14, 15   :math:`Y_{ij} = X_{ij}, \; X_{ji}`
    ======== ======================================================

    Only the last two take a matrix for each channel. All others are combined as vectors first, so
    that no tensor is larger than a matrix for each channel of the input or the output.

    :math:`L_0` and :math:`L_1` have a bias on the diagonal. As in the authors' code,
    :math:`L_2` has the parameter of one, and does not use it.

    Args:
        in_channels (int): Number of channels of the input.
        out_channels (int): Number of channels of the output.
        num_nodes (float, optional): About how many nodes a graph has. The initial :math:`k_2` is
            half its inverse. (default: :obj:`10.`)

    Shapes:
        - **input:** values :math:`(B, F_{in}, n, n)`, which nodes there are :math:`(B, n)`
          *(optional)*
        - **output:** values :math:`(B, F_{out}, n, n)`
    """

    def __init__(self, in_channels: int, out_channels: int, num_nodes: float = 10.0) -> None:
        super().__init__()
        self.in_channels, self.out_channels = in_channels, out_channels
        self.num_nodes = num_nodes
        self.weight = torch.nn.Parameter(torch.empty(3, 15, out_channels, in_channels))
        self.diagonal_bias = torch.nn.Parameter(torch.empty(3, out_channels))
        self.bias = torch.nn.Parameter(torch.empty(out_channels))
        self.k = torch.nn.Parameter(torch.empty(2))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        torch.nn.init.normal_(
            self.weight, std=math.sqrt(2 / (self.in_channels + self.out_channels))
        )
        torch.nn.init.zeros_(self.diagonal_bias)
        torch.nn.init.zeros_(self.bias)
        torch.nn.init.ones_(self.k[:1])
        torch.nn.init.constant_(self.k[1:], 0.5 / self.num_nodes)

    def forward(self, x: Tensor, nodes: Tensor | None = None) -> Tensor:
        """Runs the forward pass.

        Args:
            x: The values of all pairs, zero in the padding.
            nodes: Which nodes there are.
        """
        missing = padding(nodes)
        size = x.size(2) if nodes is None else nodes.sum(dim=1).clamp(min=1).view(-1, 1, 1)
        diagonal, rows, columns = x.diagonal(dim1=2, dim2=3), x.sum(dim=3), x.sum(dim=2)
        vectors = torch.stack([diagonal, rows / size, columns / size], dim=1)
        totals = vectors[:, :2].sum(dim=3) / size
        l0, l1, l2 = (self._combination(i, x, vectors, totals) for i in range(3))
        product = l2 @ without(l1, missing)
        out = self.k[0] * l0 + self.k[1] * product + self.bias[:, None, None]
        return without(out, missing)

    def _combination(self, i: int, x: Tensor, vectors: Tensor, totals: Tensor) -> Tensor:
        weight = self.weight[i]

        def of_nodes(maps: slice) -> Tensor:
            return torch.einsum('mcd,bmdn->bcn', weight[maps], vectors)

        def of_graphs(maps: slice) -> Tensor:
            return torch.einsum('mcd,bmd->bc', weight[maps], totals).unsqueeze(2)

        out = F.conv2d(x, weight[_SAME, ..., None, None])
        out = out + F.conv2d(x, weight[_TRANSPOSED, ..., None, None]).transpose(2, 3)
        out += (of_nodes(_ALONG_ROWS) + of_graphs(_OF_GRAPH)).unsqueeze(3)
        out += of_nodes(_ALONG_COLUMNS).unsqueeze(2)
        diagonal = of_nodes(_TO_DIAGONAL) + of_graphs(_OF_GRAPH_TO_DIAGONAL)
        if i < 2:
            diagonal = diagonal + self.diagonal_bias[i, :, None]
        out.diagonal(dim1=2, dim2=3).add_(diagonal)
        return out

    def __repr__(self) -> str:
        return f'{self.__class__.__name__}({self.in_channels}, {self.out_channels})'


class RingGNN(PairNetwork):
    r"""The network of the `"On the Equivalence between Graph Isomorphism Testing and
    Function Approximation with GNNs" <https://arxiv.org/abs/1905.12560>`_ paper.

    The input and the outputs of all layers are summed over all pairs of a graph, or over the
    column of a node, concatenated, and put through an MLP. It parts no more than 3-WL does.
    Memory is :math:`O(B n^2)`, and time is :math:`O(B n^3)`, for :math:`n` nodes in the largest
    graph. All graphs of a batch are padded to the largest. Values in the padding never reach a
    graph.

    Args:
        in_channels (int): Number of node features.
        hidden_channels (int): Number of channels of every layer.
        out_channels (int): Number of scores.
        num_layers (int): Number of layers.
        num_nodes (float, optional): About how many nodes a graph has: see :class:`RingGNNConv`.
            (default: :obj:`10.`)
        readout_channels (list, optional): Widths within the MLP. If not given, they are a half
            and a quarter of the width of its input. (default: :obj:`None`)
        for_nodes (bool, optional): Whether nodes are scored, not graphs. (default: :obj:`False`)
        inputs (str, optional): The input: see :class:`~graphgym_nc.nn.peers.PPGN`.
            (default: :obj:`"diagonal"`)

    Shapes:
        - **input:** node features :math:`(|\mathcal{V}|, F)`,
          edge indices :math:`(2, |\mathcal{E}|)`,
          batch vector :math:`(|\mathcal{V}|)` *(optional)*
        - **output:** scores :math:`(B, C)`, or :math:`(|\mathcal{V}|, C)` of nodes
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        num_layers: int,
        num_nodes: float = 10.0,
        readout_channels: list[int] | None = None,
        for_nodes: bool = False,
        inputs: str = 'diagonal',
    ) -> None:
        super().__init__(inputs, for_nodes)
        self.act: torch.nn.Module = torch.nn.ReLU()
        widths = [num_inputs(in_channels, inputs)] + [hidden_channels] * num_layers
        self.convs = torch.nn.ModuleList(
            RingGNNConv(width, hidden_channels, num_nodes) for width in widths[:-1]
        )
        width = sum(widths)
        within = [width // 2, width // 4] if readout_channels is None else readout_channels
        self.mlp = MLP([width, *within, out_channels], norm=None)

    def reset_parameters(self) -> None:
        reset(self.convs)
        self.mlp.reset_parameters()

    def score(self, pairs: Pairs) -> Tensor:
        x, dims = pairs.values, (2,) if self.for_nodes else (2, 3)
        pooled = [x.sum(dims)]
        for conv in self.convs:
            x = without(self.act(conv(x, pairs.nodes)), padding(pairs.nodes))
            pooled.append(x.sum(dims))
        sums = torch.cat(pooled, dim=1)
        return self.mlp(sums.transpose(1, 2) if self.for_nodes else sums)

    def __repr__(self) -> str:
        what = 'nodes' if self.for_nodes else 'graphs'
        return (
            f'{self.__class__.__name__}({self.mlp.out_channels}, num_layers={len(self.convs)}, '
            f'{what}, inputs={self.inputs})'
        )
