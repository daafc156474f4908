import warnings

import pytest
import torch

from graphgym_nc import TriangleIncidence, kernels
from tests.incidences import assert_same
from tests.reference import dense_graph


def test_use():
    x = torch.ones(1)
    assert kernels.enabled(x)
    with kernels.use('torch'):
        assert not kernels.enabled(x)
        with kernels.use('numba'):
            assert kernels.enabled(x)
        assert not kernels.enabled(x)
    assert not kernels.enabled(x, x.to('meta'))
    with (
        pytest.raises(ValueError, match="'kernel' is 'cuda', but must be one of auto, numba"),
        kernels.use('cuda'),
    ):
        pass


@pytest.fixture
def without_numba(monkeypatch):
    def fail(name):
        raise ImportError(f'no {name}')

    monkeypatch.setattr('importlib.import_module', fail)
    kernels._problem.cache_clear()
    kernels._available.cache_clear()
    yield
    kernels._problem.cache_clear()
    kernels._available.cache_clear()


def test_without_numba_it_is_said_once(without_numba):
    edge_index = dense_graph()
    with pytest.warns(UserWarning, match='numba cannot be used .*runs on torch alone'):
        found = TriangleIncidence.build(edge_index, 9)
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        assert_same(TriangleIncidence.build(edge_index, 9), found)
    with (
        pytest.raises(ImportError, match="'kernel' is 'numba', but numba cannot be used"),
        kernels.use('numba'),
    ):
        pass
