"""What a step of training takes on several devices, on paper."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class StepCost:
    r"""The cost of a step, measured on one device of one kind and scaled to
    another.

    On :math:`N` devices with :math:`b` graphs each, a step takes

    .. math::
        t = \max(f + k b / g, \; l b / w) + a, \qquad
        a = 2 \frac{N - 1}{N} \frac{G}{B} + 2 (N - 1) \lambda + c \lceil
        \log_2 N \rceil \lambda

    with the compute, unless the loader is slower, and the communication: a ring
    that adds up the gradients, and :math:`c` small messages along a tree.
    Nothing of it is taken to overlap.

    Attributes:
        fixed: :math:`f`, the seconds of a step whatever its size.
        per_graph: :math:`k`, the seconds of each graph.
        loading: :math:`l`, the seconds that loading a graph takes.
        gradient: :math:`G`, the bytes of all gradients.
        messages: :math:`c`, the number of small collective operations.
        speed: :math:`g`, how many times as fast as the measured device.
        workers: :math:`w`, the processes that load (0 for none beside the
            training, which then waits).
        bandwidth: :math:`B`, in bytes per second, between any two devices.
        latency: :math:`\lambda`, the seconds of a message.
    """

    fixed: float
    per_graph: float
    loading: float
    gradient: int
    messages: int
    speed: float = 1.0
    workers: int = 0
    bandwidth: float = 1e10
    latency: float = 2e-5

    def communication(self, devices: int) -> float:
        """The seconds that a step spends on communication."""
        if devices == 1:
            return 0.0
        ring = 2 * (devices - 1) / devices * self.gradient / self.bandwidth
        ring += 2 * (devices - 1) * self.latency
        return ring + self.messages * int(np.ceil(np.log2(devices))) * self.latency

    def step(self, devices: int, graphs: float) -> float:
        """The seconds of a step with so many graphs on each device."""
        compute, loading = self.fixed + self.per_graph * graphs / self.speed, self.loading * graphs
        if self.workers == 0:
            return compute + loading + self.communication(devices)
        return max(compute, loading / self.workers) + self.communication(devices)

    def speedup(self, devices: int, graphs: float, batch_size: float) -> float:
        """How many times as many graphs per second as one device, which has
        steps of :obj:`batch_size`.
        """
        rate = devices * graphs / self.step(devices, graphs)
        return rate * self.step(1, batch_size) / batch_size


def fit_step(graphs: Sequence[float], seconds: Sequence[float]) -> tuple[float, float]:
    """The fixed cost and the cost per graph that explain measured steps."""
    per_graph, fixed = np.polyfit(np.asarray(graphs), np.asarray(seconds), 1)
    return max(float(fixed), 0.0), float(per_graph)
