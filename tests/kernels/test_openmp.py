import itertools
import multiprocessing
import os
import subprocess
import sys
from pathlib import Path

import numba
import pytest
import torch
from numba import carray

from graphgym_nc import kernels
from graphgym_nc.kernels import graphs, openmp
from graphgym_nc.kernels.openmp import (
    doubles,
    fingerprint,
    kernel,
    launch,
    matrix,
    number,
    thread_count,
    thread_number,
    threads_for,
    vector,
)


@kernel
def scaled_sums(args):
    """0 n, 1 p, 2 factor, 3 x [n, p], 4 scale [p], 5 out [n, p], 6 sums [threads, 1], 7 none"""
    task = carray(args, (8,))
    n, p, factor = task[0], task[1], number(task, 2)
    x, scale, out = matrix(task, 3, n, p), vector(task, 4, p), matrix(task, 5, n, p)
    thread, threads = thread_number(), thread_count()
    sums = doubles(task, 6, threads, 1)[thread]
    factor += vector(task, 7, p).size
    for i in range(x.shape[0] * thread // threads, x.shape[0] * (thread + 1) // threads):
        for j in range(x.shape[1]):
            out[i, j] = x[i, j] * scale[j] * factor
            sums[0] += x[i, j]


def run(threads: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    x, scale = torch.arange(21.0).view(7, 3), torch.tensor([1.0, 2.0, 3.0])
    out, sums = torch.empty_like(x), torch.zeros(threads, 1, dtype=torch.double)
    launch(scaled_sums, *x.shape, 2.5, x, scale, out, sums, None, threads=threads)
    assert torch.equal(out, x * scale * 2.5)
    assert sums.sum() == x.sum() == 210
    return x, out, sums


@pytest.mark.parametrize('threads', [1, 2, 3])
def test_every_thread_does_its_share(threads):
    x, _, sums = run(threads)
    cuts = [7 * i // threads for i in range(threads + 1)]
    shares = [x[a:b].sum() for a, b in itertools.pairwise(cuts)]
    # Without torch's OpenMP runtime, one thread does all.
    assert sums.flatten().tolist() in ([float(s) for s in shares], [210.0] + [0.0] * (threads - 1))


def in_child(queue):
    torch.set_num_threads(1)  # as in a worker of torch's loaders
    run(threads_for(1 << 20))
    queue.put('done')


def test_in_a_forked_process():
    run(2)
    context = multiprocessing.get_context('fork')
    queue = context.Queue()
    process = context.Process(target=in_child, args=(queue,))
    process.start()
    assert queue.get(timeout=60) == 'done'
    process.join()


def test_threads_for(monkeypatch):
    monkeypatch.setattr(torch, 'get_num_threads', lambda: 4)
    assert [threads_for(n, least=10) for n in (0, 9, 19, 20, 39, 1000)] == [1, 1, 1, 2, 3, 4]


def test_where_nothing_can_be_written(tmp_path: Path):
    # A file in place of the folder of a cache, beside the code and at home.
    (tmp_path / '__pycache__').touch()
    (tmp_path / 'module.py').write_text(
        'from numba import njit\n'
        'from graphgym_nc.kernels.openmp import cached\n\n'
        '@cached(njit)\n'
        'def double(x):\n'
        '    return 2 * x\n\n'
        'print(double(21), type(double._cache).__name__)\n'
    )
    home = tmp_path / '__pycache__' / 'home'
    folders = dict.fromkeys(['HOME', 'XDG_CACHE_HOME', 'NUMBA_CACHE_DIR'], str(home))
    environment = {**os.environ, **folders}
    result = subprocess.run(
        [sys.executable, '-W', 'ignore', 'module.py'],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stdout.split() == ['42', 'NullCache']


def test_a_change_of_any_source_is_noticed(tmp_path: Path):
    (tmp_path / 'a.py').write_text('a')
    (tmp_path / 'b.py').write_text('b')
    before = fingerprint(tmp_path.glob('*.py'))
    assert fingerprint(tmp_path.glob('*.py')) == before
    (tmp_path / 'b.py').write_text('c')
    assert fingerprint(tmp_path.glob('*.py')) != before


def test_each_state_of_the_sources_has_a_cache_of_its_own():
    sources = Path(openmp.__file__).parent.glob('*.py')
    assert f'numba-{fingerprint(sources)}' in graphs.blocks.stats.cache_path
    assert os.environ.get('NUMBA_CACHE_DIR', '') == numba.config.CACHE_DIR  # others are left alone


def test_names_of_the_runtime_are_left_to_others():
    """numba's code may call the same functions; where there is no libgomp, ours are no such."""
    script = (
        'import ctypes\n'
        'import torch\n'
        'from llvmlite.binding import address_of_symbol as address\n'
        'def fail(*args, **kwargs): raise OSError\n'
        'load, ctypes.CDLL = ctypes.CDLL, fail\n'
        'from graphgym_nc.kernels import openmp\n'
        'ctypes.CDLL = load\n'
        'assert openmp._runtime is None\n'
        "for name in ('omp_get_thread_num', 'omp_get_num_threads', 'GOMP_barrier'):\n"
        "    assert address(name) != address(f'graphgym_nc_{name}') is not None\n"
    )
    subprocess.run([sys.executable, '-c', script], check=True)


@pytest.mark.parametrize(('threads', 'choice'), [(2, 'auto'), (1, 'auto'), (2, 'numba')])
def test_without_libgomp_torch_computes_on_its_threads(threads, choice, monkeypatch):
    monkeypatch.setattr(openmp, '_runtime', None)
    monkeypatch.setattr(torch, 'get_num_threads', lambda: threads)
    kernels._say_that_torch_computes.cache_clear()
    with kernels.use(choice):
        if (threads, choice) == (2, 'auto'):
            with pytest.warns(UserWarning, match='no libgomp'):
                assert not kernels.on_all_threads()
            assert not kernels.on_all_threads()  # and this is said once
        else:
            assert kernels.on_all_threads()
