import dataclasses

import networkx as nx
import numpy as np
import pytest
import torch

from graphgym_nc.wl.brec_training import Protocol, t_squared, train_pair


def graph6(graph):
    return nx.to_graph6_bytes(graph, header=False).decode()


HEXAGON, OCTAGON = graph6(nx.cycle_graph(6)), graph6(nx.cycle_graph(8))
TWO_TRIANGLES = graph6(nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3)))
TWO_SQUARES = graph6(nx.disjoint_union(nx.cycle_graph(4), nx.cycle_graph(4)))
SMALL = Protocol(channels=8, num_layers=2, num_copies=20, max_epochs=3)


def test_threshold_is_that_of_brec():
    assert Protocol().threshold == pytest.approx(72.34, abs=0.005)


def test_t_squared_by_hand():
    # Differences 1, 2, 3: mean 2, variance 1, so T^2 = 3 * 2^2 / 1.
    first = torch.tensor([[2.0], [4.0], [6.0]], dtype=torch.double)
    second = torch.tensor([[1.0], [2.0], [3.0]], dtype=torch.double)
    assert t_squared(first, second) == pytest.approx(12)


def test_t_squared_stays_below_the_threshold_as_often_as_it_should():
    protocol = Protocol(confidence=0.8)
    rng = np.random.default_rng(0)
    shape = (2, protocol.num_copies, protocol.out_channels)
    values = [t_squared(*torch.from_numpy(rng.normal(size=shape))) for _ in range(1000)]
    assert np.mean(np.array(values) < protocol.threshold) == pytest.approx(0.8, abs=0.04)


def test_t_squared_ignores_rounding():
    torch.manual_seed(0)
    z = torch.randn(1, 16, dtype=torch.double).repeat(32, 1)
    assert t_squared(z, z) == 0
    assert t_squared(z, z + 1e-13) < 1
    assert t_squared(z, z + 1e-6) > Protocol().threshold


@pytest.mark.parametrize('model', ['nc', 'gin'])
def test_train_pair(model):
    protocol = dataclasses.replace(SMALL, model=model)
    result = train_pair((TWO_TRIANGLES, HEXAGON), protocol)
    assert (result.t_squared > protocol.threshold) == (model == 'nc')
    assert result.t_squared_copies < protocol.threshold
    assert 1 <= result.epochs <= 3


def test_what_nc_1_wl_does_not_part_is_not_learnt():
    result = train_pair((TWO_SQUARES, OCTAGON), SMALL)
    assert result.t_squared < SMALL.threshold
    assert result.loss == pytest.approx(1)


def test_training_lowers_the_loss():
    start, end = (
        train_pair((TWO_TRIANGLES, HEXAGON), dataclasses.replace(SMALL, max_epochs=n, lr=1e-3))
        for n in (1, 15)
    )
    assert end.loss < 0.9 * start.loss


def test_a_pair_is_seeded_by_its_key_and_leaves_the_global_state_alone():
    state = torch.random.get_rng_state()
    pair = (TWO_TRIANGLES, HEXAGON)
    first, second, other = (train_pair(pair, SMALL, key) for key in ((1, 2), (1, 2), (1, 3)))
    assert first == second
    assert first.loss != other.loss
    assert torch.equal(torch.random.get_rng_state(), state)


@pytest.mark.parametrize(
    ('settings', 'message'),
    [
        ({'model': 'gcn'}, "unknown network 'gcn'"),
        ({'channels': 0}, "'channels' must be positive"),
        ({'num_copies': 16}, 'more copies than channels'),
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        Protocol(**settings)
