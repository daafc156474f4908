"""Jobs of a stand-in for run/main.py: see fake_main.py."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from graphgym_nc.results.lock import try_lock
from graphgym_nc.sweeps.jobs import Job
from graphgym_nc.sweeps.outcome import tail
from graphgym_nc.sweeps.pool import run_jobs

FAKE = str(Path(__file__).parent / 'fake_main.py')


@pytest.fixture
def job(tmp_path):
    """Makes a job that takes some tenths of a second."""

    def job(name, seed=0, tenths=0, **gnn):
        config = {
            'gnn': {'layers_mp': 1, **gnn},
            'optim': {'max_epoch': 2},
            'train': {'ckpt_period': tenths},
        }
        path = tmp_path / f'{name}.yaml'
        path.write_text(yaml.safe_dump(config))
        words = ('--cfg', str(path), 'out_dir', str(tmp_path), 'seed', str(seed))
        command = (sys.executable, FAKE, *words)
        return Job(f'{name}/{seed}', tmp_path / name / str(seed), command)

    return job


def starts(job):
    """How often a job was started, and with what."""
    path = job.run_dir / 'starts'
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def test_folder_s_holds_seed_s(job):
    jobs = [job('nc', seed) for seed in (0, 1, 7)]
    assert run_jobs(jobs, [{}, {}]) == {}
    for item in jobs:
        record = json.loads((item.run_dir / 'run.json').read_text())
        assert str(record['seed']) == item.run_dir.name


def test_workers_have_environments_of_their_own(job):
    jobs = [job('nc', seed, tenths=2) for seed in range(4)]
    workers = [{'OMP_NUM_THREADS': '3', 'CUDA_VISIBLE_DEVICES': gpu} for gpu in 'ab']
    run_jobs(jobs, workers)
    rows = [starts(item)[0] for item in jobs]
    assert [row['OMP_NUM_THREADS'] for row in rows] == ['3'] * 4
    assert {row['CUDA_VISIBLE_DEVICES'] for row in rows} == {'a', 'b'}


def test_a_failure_does_not_stop_the_others(job, capsys):
    good, bad, last = job('a'), job('b', act='selu'), job('c')
    assert run_jobs([good, bad, last], [{}]) == {bad: 'exit code 1'}
    assert good.is_done
    assert last.is_done
    assert 'b/0 FAILED (exit code 1)' in capsys.readouterr().out
    assert tail(bad.log) == 'fake_main.py: selu is not to be had'
    assert len(starts(bad)) == 1


def test_retries_only_if_told_so(job):
    bad = job('b', act='selu')
    assert run_jobs([bad], [{}], retry=2) == {bad: 'exit code 1'}
    assert len(starts(bad)) == 3


def test_only_what_is_not_done_is_run(job):
    jobs = [job('a'), job('b', act='selu'), job('c')]
    run_jobs(jobs[:2], [{}])
    assert list(run_jobs(jobs, [{}])) == [jobs[1]]
    assert [len(starts(item)) for item in jobs] == [1, 2, 1]


def test_an_exit_code_of_0_is_not_enough(tmp_path):
    item = Job('a/0', tmp_path / 'a' / '0', (sys.executable, '-c', ''))
    assert run_jobs([item], [{}]) == {item: 'exit code 0'}


def test_a_job_of_another_sweep_is_left_to_it(job):
    item = job('a')
    item.run_dir.mkdir(parents=True)
    lock = try_lock(item.run_dir)
    assert try_lock(item.run_dir) is None
    done = f"import time; time.sleep(1); open('{item.run_dir}/run.json', 'w').write"
    done += '(\'{"status": "DONE"}\')'
    other = subprocess.Popen([sys.executable, '-c', done], pass_fds=[lock])
    os.close(lock)  # the other still has it
    assert try_lock(item.run_dir) is None
    assert run_jobs([item, job('b')], [{}]) == {}
    assert other.wait() == 0
    assert starts(item) == []
