from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch_geometric.nn.inits import reset
from torch_geometric.nn.resolver import activation_resolver

from graphgym_nc.nn.peers._pairs import (
    PairLinear,
    PairNetwork,
    Pairs,
    num_inputs,
    padding,
    without,
)

#: How the pairs of a graph, or of a node, are put together.
READOUTS = ('max', 'sum', 'node')


class PPGNBlock(torch.nn.Module):
    r"""The block of the `"Provably Powerful Graph Networks"
    <https://arxiv.org/abs/1905.11136>`_ paper, which multiplies matrices over
    pairs of nodes.

    .. math::
        \mathbf{X}^{\prime} = \mathbf{W} \left[ \mathbf{X} \, \Vert \,
        \mathrm{MLP}_1(\mathbf{X}) \cdot \mathrm{MLP}_2(\mathbf{X}) \right] + \mathbf{b}

    MLPs and :math:`\mathbf{W}` act on the channels of every pair, and the product is one of
    :math:`n \times n` matrices in every channel.

    Args:
        in_channels (int): Number of channels of the input.
        out_channels (int): Number of channels of the output, and within.
        mlp_depth (int, optional): Number of layers in both MLPs. (default: :obj:`2`)
        act (str or Callable, optional): What comes after each of them. (default: :obj:`"relu"`)

    Shapes:
        - **input:** values :math:`(B, F_{in}, n, n)`,
          padding :math:`(B, 1, n, n)` *(optional)*
        - **output:** values :math:`(B, F_{out}, n, n)`
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        mlp_depth: int = 2,
        act: str | Callable[..., Any] = 'relu',
    ) -> None:
        super().__init__()
        widths = [in_channels] + [out_channels] * mlp_depth
        self.mlp1, self.mlp2 = (
            torch.nn.Sequential(
                *(
                    module
                    for i in range(mlp_depth)
                    for module in (PairLinear(widths[i], widths[i + 1]), activation_resolver(act))
                )
            )
            for _ in range(2)
        )
        self.lin = PairLinear(in_channels + out_channels, out_channels)

    def reset_parameters(self) -> None:
        for module in self.modules():
            if isinstance(module, PairLinear):
                module.reset_parameters()

    def forward(self, x: Tensor, padding: Tensor | None = None) -> Tensor:
        """Runs the forward pass.

        Args:
            x: The values of all pairs, zero in the padding.
            padding: Which pairs are not there.
        """
        # The sum over the middle node must not run into the padding.
        product = without(self.mlp1(x), padding) @ self.mlp2(x)
        return without(self.lin(x, product), padding)


class PPGN(PairNetwork):
    r"""The network of the `"Provably Powerful Graph Networks"
    <https://arxiv.org/abs/1905.11136>`_ paper: it parts what 3-WL parts.

    Every :class:`PPGNBlock` has a linear classifier :math:`\mathbf{V}_l` of its own:

    .. math::
        \mathbf{y} = \sum_{l} \mathbf{V}_l \, \mathrm{READOUT}(\mathbf{X}^{(l)}) + \mathbf{c}_l

    For :math:`n` nodes in the largest graph, memory is :math:`O(B n^2)`, and time is
    :math:`O(B n^3)`. All graphs of a batch are padded to the largest. Values in the padding
    never reach a graph.

    Args:
        in_channels (int): Number of node features.
        hidden_channels (int): Number of channels of every block.
        out_channels (int): Number of scores.
        num_layers (int): Number of blocks.
        mlp_depth (int, optional): Number of layers in the MLPs of a block. (default: :obj:`2`)
        readout (str, optional): For every graph, the maxima (:obj:`"max"`, as in the paper) or
            the sums (:obj:`"sum"`) over the diagonal and over all else; for every node, the sum
            over its column (:obj:`"node"`). (default: :obj:`"max"`)
        inputs (str, optional): The first channel is the normalised adjacency. Node features are
            on the diagonal of the others (:obj:`"diagonal"`), with the adjacency added to all
            (:obj:`"spread"`, as the paper's authors do), or are left out (:obj:`"adjacency"`).
            (default: :obj:`"diagonal"`)
        act (str or Callable, optional): The activation. (default: :obj:`"relu"`)

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
        mlp_depth: int = 2,
        readout: str = 'max',
        inputs: str = 'diagonal',
        act: str | Callable[..., Any] = 'relu',
    ) -> None:
        super().__init__(inputs, for_nodes=readout == 'node')
        if readout not in READOUTS:
            raise ValueError(f"'readout' is '{readout}', but must be one of {', '.join(READOUTS)}")
        self.readout = readout
        widths = [num_inputs(in_channels, inputs)] + [hidden_channels] * num_layers
        pooled = hidden_channels * (1 if self.for_nodes else 2)
        self.blocks = torch.nn.ModuleList(
            PPGNBlock(width, hidden_channels, mlp_depth, act) for width in widths[:-1]
        )
        self.lins = torch.nn.ModuleList(torch.nn.Linear(pooled, out_channels) for _ in self.blocks)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        reset(self.blocks)
        for lin in self.lins:
            assert isinstance(lin, torch.nn.Linear)
            torch.nn.init.xavier_uniform_(lin.weight)
            torch.nn.init.zeros_(lin.bias)

    def score(self, pairs: Pairs) -> Tensor:
        x, missing = pairs.values, padding(pairs.nodes)
        scores = []
        for block, lin in zip(self.blocks, self.lins, strict=True):
            x = block(x, missing)
            scores.append(lin(self._pooled(x, pairs.nodes, missing)))
        return torch.stack(scores).sum(dim=0)

    def _pooled(self, x: Tensor, nodes: Tensor | None, missing: Tensor | None) -> Tensor:
        if self.for_nodes:
            return x.sum(dim=2).transpose(1, 2)
        diagonal = x.diagonal(dim1=2, dim2=3)
        if self.readout == 'sum':
            of_nodes = diagonal.sum(dim=2)
            return torch.cat([of_nodes, x.sum(dim=(2, 3)) - of_nodes], dim=1)
        itself = torch.eye(x.size(2), dtype=torch.bool, device=x.device)
        others = itself if missing is None else itself | missing
        absent = None if nodes is None else ~nodes.unsqueeze(1)
        return torch.cat([_maximum(diagonal, absent), _maximum(x, others)], dim=1)

    def __repr__(self) -> str:
        return (
            f'{self.__class__.__name__}({self.lins[0].out_features}, '
            f'num_layers={len(self.blocks)}, readout={self.readout}, inputs={self.inputs})'
        )


def _maximum(x: Tensor, absent: Tensor | None) -> Tensor:
    """The maximum over all but the first two dimensions; 0 if all is absent."""
    if absent is None:
        return x.flatten(2).max(dim=2).values
    with torch.no_grad():  # a copy of so many values is not to be kept
        known = x.masked_fill(absent, -torch.inf).flatten(2)
        best, index = known.max(dim=2, keepdim=True)
    out = x.flatten(2).gather(2, index)
    return out.masked_fill(best == -torch.inf, 0.0).squeeze(2)
