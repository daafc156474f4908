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
def without_compilers(monkeypatch):
    def fail(name):
        raise ImportError(f'no {name}')

    monkeypatch.setattr('importlib.import_module', fail)
    caches = kernels._problem, kernels._available, kernels._triton_problem
    for cached in caches:
        cached.cache_clear()
    yield
    for cached in caches:
        cached.cache_clear()


def test_without_numba_it_is_said_once(without_compilers):
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


def test_without_triton(without_compilers):
    message = r"'kernel' is 'triton', but triton cannot be used: .*pip install"
    with pytest.raises(ImportError, match=message), kernels.use('triton'):
        pass


def test_a_choice_that_needs_no_compiler(without_compilers):
    assert not kernels.by_triton(torch.ones(1))
    with kernels.again(False):
        assert not kernels.by_triton(torch.ones(1))
