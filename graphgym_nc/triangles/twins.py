"""Nodes with the same closed neighbourhood."""

from dataclasses import dataclass
from typing import Any

from graphgym_nc.triangles.csr import CSR


@dataclass(frozen=True, eq=False)
class Twins:
    """Nodes with the same closed neighbourhood, and the edges among them.

    Attributes:
        sums: Pairs of first twins, then nodes, times edges: the edges between
            the twins of both, or at the node.
        first: Nodes times nodes: the first of every node's twins.
    """

    sums: CSR
    first: CSR

    def to(self, device: Any, non_blocking: bool = False) -> 'Twins':
        """Moves the twins to a device."""
        return Twins(self.sums.to(device, non_blocking), self.first.to(device, non_blocking))

    def pin_memory(self) -> 'Twins':
        """Copies the twins to pinned memory."""
        return Twins(self.sums.pin_memory(), self.first.pin_memory())


def twins_pay(num_pairs: int, num_edges: int, num_messages: int) -> bool:
    """Whether to make use of twins: if sums over the edges of every pair and of
    every node, and then over pairs, are expected to have much fewer terms than
    there are messages.
    """
    return num_messages > 0 and (
        3 * num_edges + num_messages * num_pairs / num_edges < 0.6 * num_messages
    )
