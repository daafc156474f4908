"""What is made of the sum over the edges among a node's neighbours."""

from typing import cast

import torch
from torch import Tensor

from graphgym_nc.triangles.merged_edges import Edges
from graphgym_nc.triangles.shares import once

#: Powers of the number of messages that their sum is divided by, by name.
POWERS = {'add': 0.0, 'sqrt': 0.5, 'mean': 1.0}

#: The name for a power that is learned.
LEARNED = 'learned'


class PowerAggregation(torch.nn.Module):
    r"""Divides sums over messages by a power of their number.

    .. math::
        \mathbf{c}_i = n_i^{-\mathbf{p}} \odot \sum_{k=1}^{n_i} \mathbf{m}_{i,k}
        + \log (1 + n_i) \cdot \mathbf{v}

    Between the sum (:math:`p = 0`) and the mean (:math:`p = 1`) lies the square root
    (:math:`p = \frac{1}{2}`): independent messages of mean zero add up like it, so nodes with
    few and with many of them have sums of the same size. A node without messages has a sum
    of zero for any :math:`p`.

    Args:
        aggr: A name of :obj:`POWERS`, a number :math:`p` from 0 to 1, or :obj:`"learned"`:
            one for each channel, at first :math:`\frac{1}{2}`, and free to leave that range.
        log: Whether to add the second term, with a learned :math:`\mathbf{v}` that is
            zero at first.
        channels: The number of channels, of which only parameters take note.

    Raises:
        ValueError: If there is no such aggregation.
    """

    def __init__(self, aggr: str | float, log: bool = False, channels: int = 0) -> None:
        super().__init__()
        learned = aggr == LEARNED
        fixed = isinstance(aggr, (int, float)) and not isinstance(aggr, bool) and 0 <= aggr <= 1
        if not (learned or fixed or aggr in POWERS):
            raise ValueError(
                f"'communicate_aggr' is {aggr!r}, but must be one of {', '.join(POWERS)}, "
                f'{LEARNED}, or a number from 0 to 1'
            )
        number = 0.5 if learned else POWERS.get(cast(str, aggr), aggr)
        self.initial_power = float(number)
        self.power = torch.nn.Parameter(torch.empty(channels)) if learned else None
        self.log_weight = torch.nn.Parameter(torch.empty(channels)) if log else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        if self.power is not None:
            torch.nn.init.constant_(self.power, self.initial_power)
        if self.log_weight is not None:
            torch.nn.init.zeros_(self.log_weight)

    @property
    def is_a_number(self) -> bool:
        """Whether all channels of a node are multiplied by the same number, and no more."""
        return self.power is None and self.log_weight is None

    def forward(self, out: Tensor, edges: Edges) -> Tensor:
        """Runs the forward pass.

        Args:
            out: The sums, of shape :obj:`[num_nodes, channels]`.
            edges: The edges, which know the number of messages of every node.
        """
        messages, dtype = edges.messages, out.dtype
        if self.power is not None:
            log = messages.clamp(min=1).to(out.dtype).log_()
            out = out * torch.exp(log[:, None] * -self.power)
        elif self.initial_power != 0:
            power = -self.initial_power
            out = out * once(
                edges,
                f'messages to {power}, {dtype}',
                lambda: messages.clamp(min=1).to(dtype).pow_(power)[:, None],
            )
        if self.log_weight is not None:
            out = torch.addcmul(out, messages.to(out.dtype).log1p_()[:, None], self.log_weight)
        return out
