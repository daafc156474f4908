import dataclasses

import pytest

from graphgym_nc.benchmark.devices import StepCost, fit_step

COST = StepCost(
    fixed=0.01, per_graph=0.002, loading=0.001, gradient=400, messages=5, bandwidth=1e3,
    latency=0.1,
)  # fmt: skip


def test_values_by_hand():
    assert COST.communication(1) == 0
    # 2 * 3/4 * 400 bytes at 1000 per second, 6 messages around a ring, 5 times 2 along a tree.
    assert COST.communication(4) == pytest.approx(0.6 + 0.6 + 1.0)
    assert COST.step(1, 10) == pytest.approx(0.01 + 0.02 + 0.01)
    assert COST.step(4, 10) == pytest.approx(0.04 + 2.2)
    assert COST.speedup(4, 10, 40) == pytest.approx(40 / 2.24 / (40 / 0.13))


def test_workers_load_meanwhile():
    cost = dataclasses.replace(COST, workers=2, speed=10)
    assert cost.step(1, 10) == pytest.approx(0.012)  # the compute
    assert cost.step(1, 100) == pytest.approx(0.05)  # the loader
    assert cost.speedup(1, 100, 100) == 1


def test_fit():
    assert fit_step([4, 8, 16], [0.03, 0.05, 0.09]) == pytest.approx((0.01, 0.005))
    assert fit_step([4, 8], [0.03, 0.07])[0] == 0  # rounding must not make a step free
