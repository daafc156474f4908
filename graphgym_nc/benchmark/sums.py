"""How near the sums of the lean layer come to what the processor can add up."""

from functools import partial
from typing import Any

import torch
from torch import Tensor

from graphgym_nc.benchmark.measure import seconds
from graphgym_nc.benchmark.workloads import Workload
from graphgym_nc.kernels.lanes import LANES
from graphgym_nc.kernels.lean import sum_messages, sum_messages_backward
from graphgym_nc.triangles.incidence import TriangleIncidence

_TILE = (0, 0, 0, 0)  # 64 columns


def measure_sums(workload: Workload, repeat: int) -> dict[str, Any]:
    """The sum over messages and its gradient on one thread, of 64 columns, beside the same sums
    of one row over and over: that never leaves the registers' own cache, so it is as fast as
    the processor can load and add.
    """
    incidence = TriangleIncidence.build(workload.data.edge_index, workload.data.num_nodes)
    sums, ends = incidence.sums, incidence.endpoints
    one_row = torch.zeros_like(ends.col)
    times = seconds(
        {
            'forward': partial(_forward, incidence, ends.col),
            'forward, one row': partial(_forward, incidence, one_row),
            'backward': partial(_backward, incidence, sums.col_t),
            'backward, one row': partial(_backward, incidence, torch.zeros_like(sums.col_t)),
        },
        repeat, workload.name, least=1.0,
    )  # fmt: skip
    terms = max(sums.col.numel(), 1)
    row: dict[str, Any] = {'workload': workload.name, 'terms': sums.col.numel()}
    for name in ('forward', 'backward'):
        row[f'{name}, ns per term'] = 1e9 * times[name] / terms
        row[f'{name}, share of the peak, %'] = 100 * times[f'{name}, one row'] / times[name]
    return row


def _rows(number: int) -> Any:
    return torch.ones(number, len(_TILE) * LANES).numpy()


def _forward(incidence: TriangleIncidence, ends: Tensor) -> None:
    sums, pairs = incidence.sums, ends.view(-1, 2).numpy()
    lists, out = (sums.rowptr.numpy(), sums.col.numpy()), _rows(sums.num_rows)
    sum_messages(_rows(incidence.num_nodes), pairs, lists, (0, sums.num_rows), out, 0, _TILE)


def _backward(incidence: TriangleIncidence, col_t: Tensor) -> None:
    ends, n = incidence.endpoints, incidence.num_nodes
    graph = ends.col.view(-1, 2).numpy(), ends.rowptr_t.numpy(), ends.col_t.numpy()
    lists, grad = (incidence.sums.rowptr_t.numpy(), col_t.numpy()), _rows(incidence.sums.num_rows)
    sum_messages_backward(grad, _rows(n), graph, lists, (0, n), _rows(n), 0, _TILE)
