"""The networks of KP-GNN: KP-GIN, KP-GIN+ and KP-GIN'."""

import torch
from torch import Tensor
from torch.nn import BatchNorm1d, Dropout, Identity, Linear, ModuleList
from torch_geometric.nn.inits import reset
from torch_geometric.nn.resolver import activation_resolver

from graphgym_nc.nn.peers._kp_parts import Act, PeripheralEncoder
from graphgym_nc.nn.peers.kp_gin import EdgeTypeGINConv, KPGINConv, KPGINPlusConv
from graphgym_nc.structures.hops import Hops, KHops

#: KP-GIN, KP-GIN+ and KP-GIN'.
VARIANTS = ('plain', 'plus', 'prime')

#: Which layers' outputs are read out.
JUMPS = ('last', 'concat')


class KPGIN(torch.nn.Module):
    r"""A network of KP-GNN from the `"How Powerful are K-hop Message Passing Graph Neural
    Networks" <https://arxiv.org/abs/2205.13328>`_ paper, which embeds nodes.

    After each layer come BatchNorm and dropout (not after the last), after all of them a linear
    map, an activation and dropout.

    Args:
        in_channels (int): The size of input features, which a linear map takes to
            :obj:`hidden_channels`.
        hidden_channels (int): The size of hidden features; but for KP-GIN+ a multiple of the
            number of hops.
        num_layers (int): The number of layers; for KP-GIN+ at least that of hops.
        structure (KHops): What graphs have gone through. If it tells nothing of peripheral
            subgraphs, this is K-GIN.
        variant (str, optional): :obj:`"plain"` for layers of :class:`KPGINConv`, :obj:`"plus"`
            for those of :class:`KPGINPlusConv`, or :obj:`"prime"` for one of :class:`KPGINConv`
            and then those of :class:`EdgeTypeGINConv`. (default: :obj:`"plain"`)
        combine (str, optional): See :class:`KPGINConv`. (default: :obj:`"geometric"`)
        jk (str, optional): Whether the :obj:`"last"` layer is read out, or input and all layers
            (:obj:`"concat"`). (default: :obj:`"last"`)
        residual (bool, optional): Whether the input of every layer is added to its output.
            (default: :obj:`False`)
        dropout (float, optional): The share of what is dropped. (default: :obj:`0.`)
        norm (bool, optional): Whether there is BatchNorm. (default: :obj:`True`)
        eps (float, optional): See :class:`KPGINConv`. (default: :obj:`0.`)
        act (str or Callable, optional): The activation. (default: :obj:`"relu"`)

    Shapes:
        - **input:** node features :math:`(|\mathcal{V}|, F_{in})`, the neighbours
          (:class:`~graphgym_nc.structures.hops.Hops`)
        - **output:** node features :math:`(|\mathcal{V}|, F_{hidden})`
    """

    def __init__(  # noqa: PLR0913
        self,
        in_channels: int,
        hidden_channels: int,
        num_layers: int,
        structure: KHops,
        variant: str = 'plain',
        *,
        combine: str = 'geometric',
        jk: str = 'last',
        residual: bool = False,
        dropout: float = 0.0,
        norm: bool = True,
        eps: float = 0.0,
        act: Act = 'relu',
    ) -> None:
        super().__init__()
        for name, value, allowed in (('variant', variant, VARIANTS), ('jk', jk, JUMPS)):
            if value not in allowed:
                raise ValueError(f"'{name}' is {value!r}, but must be one of {', '.join(allowed)}")
        plus, hops = variant == 'plus', structure.hops
        if plus and num_layers < hops:
            raise ValueError(
                f"'num_layers' is {num_layers}, but must be at least the number of hops ({hops}): "
                f'the first layer of KP-GIN+ sees one hop, and each that follows one more'
            )
        width = hidden_channels

        def layer(number: int) -> torch.nn.Module:
            if plus:
                of_layer = min(number + 1, hops)
                return KPGINPlusConv(width, of_layer, structure, combine, norm, act)
            if variant == 'prime' and number > 0:
                return EdgeTypeGINConv(width, structure, eps, norm, act)
            return KPGINConv(width, width, structure, combine, eps, act)

        self.hops, self.variant, self.jk, self.residual = hops, variant, jk, residual
        self.lin_in = Linear(in_channels, width)
        self.peripheral = None
        if structure.peripheral is not None:
            channels, weight = (width, 'tanh') if plus else (width // hops, 'sigmoid')
            self.peripheral = PeripheralEncoder(channels, structure, weight)
        self.convs = ModuleList(layer(number) for number in range(num_layers))
        self.norms = ModuleList(
            BatchNorm1d(width) if norm else Identity() for _ in range(num_layers)
        )
        self.dropout = Dropout(dropout)
        self.lin_out = Linear(width * (num_layers + 1 if jk == 'concat' else 1), width)
        self.act = activation_resolver(act)

    def reset_parameters(self) -> None:
        for module in (self.lin_in, self.peripheral, self.convs, self.norms, self.lin_out):
            reset(module)

    def forward(self, x: Tensor, hops: Hops) -> Tensor:
        """Runs the forward pass.

        Args:
            x: The node features.
            hops: The neighbours at each hop.
        """
        told = None if self.peripheral is None else self.peripheral(hops)
        states = [self.lin_in(x)]
        for number, (conv, norm) in enumerate(zip(self.convs, self.norms, strict=True), 1):
            out = norm(self._convolve(conv, states, hops, told))
            if number < len(self.convs):
                out = self.dropout(out)
            states.append(out + states[-1] if self.residual else out)
        read = torch.cat(states, dim=1) if self.jk == 'concat' else states[-1]
        return self.dropout(self.act(self.lin_out(read)))

    def _convolve(
        self, conv: torch.nn.Module, states: list[Tensor], hops: Hops, told: Tensor | None
    ) -> Tensor:
        if isinstance(conv, KPGINPlusConv):
            latest = torch.stack(states[: -conv.hops - 1 : -1])
            return conv(latest, hops, None if told is None else told[: conv.hops])
        if isinstance(conv, EdgeTypeGINConv):
            return conv(states[-1], hops)
        return conv(states[-1], hops, told)

    def __repr__(self) -> str:
        return f'{type(self).__name__}({self.variant}, hops={self.hops}, {len(self.convs)} layers)'
