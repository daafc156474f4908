import os

import pytest

from graphgym_nc.utils.cores import available_cpus, environments, threads_per_worker, visible_gpus


@pytest.mark.parametrize(
    ('workers', 'cpus', 'threads'), [(1, 8, 8), (2, 8, 4), (3, 8, 2), (16, 8, 1)]
)
def test_threads_are_divided(monkeypatch, workers, cpus, threads):
    monkeypatch.delenv('OMP_NUM_THREADS', raising=False)
    assert threads_per_worker(workers, cpus) == threads


@pytest.mark.parametrize(('wanted', 'threads'), [('2', 2), ('2,4', 2), ('', 8)])
def test_no_more_threads_than_the_user_wants(monkeypatch, wanted, threads):
    monkeypatch.setenv('OMP_NUM_THREADS', wanted)
    assert threads_per_worker(1, 8) == threads
    assert threads_per_worker(8, 8) == 1


def test_gpus_are_handed_out_in_turn():
    devices = [env['CUDA_VISIBLE_DEVICES'] for env in environments(5, 1, ['0', '3'])]
    assert devices == ['0', '3', '0', '3', '0']
    first, second = environments(2, 3, [])
    assert first == second
    assert first['OMP_NUM_THREADS'] == '3'
    assert 'CUDA_VISIBLE_DEVICES' not in first


@pytest.mark.parametrize(
    ('named', 'gpus'),
    [(None, ['0', '1']), ('5,7', ['5', '7']), ('GPU-a,GPU-b', ['GPU-a', 'GPU-b'])],
)
def test_visible_gpus(monkeypatch, named, gpus):
    monkeypatch.setattr('torch.cuda.device_count', lambda: 2)
    monkeypatch.delenv('CUDA_VISIBLE_DEVICES', raising=False)
    if named:
        monkeypatch.setenv('CUDA_VISIBLE_DEVICES', named)
    assert visible_gpus() == gpus


@pytest.mark.skipif(not hasattr(os, 'sched_setaffinity'), reason='the system binds no processes')
def test_only_cores_that_this_process_may_use():
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        assert available_cpus() == 1
    finally:
        os.sched_setaffinity(0, before)
    assert available_cpus() == len(before)


@pytest.mark.parametrize(('given', 'count'), [(None, '10000'), ('7', '7')])
def test_workers_do_not_spin_for_long_unless_told(monkeypatch, given, count):
    monkeypatch.delenv('GOMP_SPINCOUNT', raising=False)
    if given:
        monkeypatch.setenv('GOMP_SPINCOUNT', given)
    assert environments(1, 1, [])[0]['GOMP_SPINCOUNT'] == count
