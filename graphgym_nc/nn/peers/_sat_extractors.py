"""What tells the Structure-Aware Transformer of the surroundings of each node."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import BatchNorm1d, Linear, Module, ReLU
from torch_geometric.nn.inits import reset
from torch_geometric.utils import scatter


class _Extractor(Module):
    """The layers and the last map of an extractor."""

    def __init__(
        self,
        convs: Sequence[Module],
        channels: int,
        act: Callable[[], Module] = ReLU,
        norm: Callable[[int], Module] = BatchNorm1d,
    ) -> None:
        super().__init__()
        in_channels = self.num_states(len(convs)) * channels
        self.convs = torch.nn.ModuleList(convs)
        self.act = act()
        self.norm = norm(in_channels)
        self.lin = Linear(in_channels, channels)

    def reset_parameters(self) -> None:
        for module in (*self.convs, self.act, self.norm, self.lin):
            reset(module)

    @staticmethod
    def num_states(num_convs: int) -> int:
        """How many states of a node the last map takes."""
        raise NotImplementedError

    def states(self, x: Tensor, graph: Sequence[Any]) -> list[Tensor]:
        """What comes out of every layer."""
        out = []
        for conv in self.convs:
            x = self.act(conv(x, *graph))
            out.append(x)
        return out


class SubtreeExtractor(_Extractor):
    r"""The k-subtree extractor of the `"Structure-Aware Transformer for Graph Representation
    Learning" <https://arxiv.org/abs/2202.03036>`_ paper: :math:`k` layers of a GNN on the graph,

    .. math::
        \mathbf{s}_i = \mathbf{W} \, \mathrm{Norm} \left( \mathbf{x}^{(0)}_i \, \Vert \, \ldots
        \, \Vert \, \mathbf{x}^{(k)}_i \right) + \mathbf{b}, \qquad
        \mathbf{x}^{(l)} = \sigma ( \mathrm{GNN}_l ( \mathbf{x}^{(l-1)}, \mathcal{G} ) ).

    Args:
        convs: The layers, each from :obj:`channels` to :obj:`channels`.
        channels: The width.
        act: Makes the activation.
        norm: Makes a normalisation of a given width; :class:`torch.nn.Identity` for none.

    Shapes:
        - **input:** node features :math:`(|\mathcal{V}|, F)`, and what the layers take after
          them, such as edge indices :math:`(2, |\mathcal{E}|)`
        - **output:** :math:`(|\mathcal{V}|, F)`
    """

    @staticmethod
    def num_states(num_convs: int) -> int:
        return num_convs + 1

    def forward(self, x: Tensor, *graph: Any) -> Tensor:
        return self.lin(self.norm(torch.cat([x, *self.states(x, graph)], dim=-1)))


class SubgraphExtractor(_Extractor):
    r"""The k-subgraph extractor of the `"Structure-Aware Transformer for Graph Representation
    Learning" <https://arxiv.org/abs/2202.03036>`_ paper: layers of a GNN on the subgraph
    :math:`\mathcal{G}_k(i)` around every node :math:`i`, whose nodes are then summed,

    .. math::
        \mathbf{s}_i = \mathbf{W} \, \mathrm{Norm} \left( \mathbf{x}_i \, \Vert
        \sum_{j \in \mathcal{G}_k(i)} \mathrm{GNN}(\mathbf{x}, \mathcal{G}_k(i))_j \right)
        + \mathbf{b}.

    Args:
        convs: The layers, each from :obj:`channels` to :obj:`channels`.
        channels: The width.
        act: Makes the activation after each layer.
        norm: Makes a normalisation of a given width; :class:`torch.nn.Identity` for none.

    Shapes:
        - **input:** node features :math:`(|\mathcal{V}|, F)`, the node :math:`(R)` and the root
          :math:`(R)` of every row of the subgraphs, and what the layers take after the features
          of these rows, such as edge indices among rows :math:`(2, S)`
        - **output:** :math:`(|\mathcal{V}|, F)`
    """

    @staticmethod
    def num_states(num_convs: int) -> int:
        return 2

    def forward(self, x: Tensor, node: Tensor, root: Tensor, *graph: Any) -> Tensor:
        last = self.states(x.index_select(0, node), graph)[-1]
        return self.lin(self.norm(torch.cat([x, scatter(last, root, 0, x.size(0))], dim=-1)))
