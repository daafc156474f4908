"""What needs no cluster: `queue` stands in for squeue."""

import json

import pytest

from graphgym_nc.sweeps.errors import GridError
from graphgym_nc.sweeps.jobs import Job
from graphgym_nc.sweeps.slurm import launch
from graphgym_nc.sweeps.slurm.submit import Submitted


@pytest.fixture
def job(tmp_path, monkeypatch):
    """A job that SLURM has been given, and that is over."""
    monkeypatch.setattr(launch, '_POLL_SECONDS', 0.0)
    job = Job('run/0', tmp_path / 'run' / '0', ())
    job.run_dir.mkdir(parents=True)
    (job.run_dir / 'run.json').write_text(json.dumps({'status': 'FAILED', 'reason': 'selu'}))
    Submitted({job.name: '7'}, '8').save(tmp_path)
    return job


def test_waiting_outlives_a_squeue_that_fails(job, tmp_path, monkeypatch, capsys):
    answers = [{'7': 'running', '8': 'pending'}] * 2 + [None] + [{}] * 2

    def queue(folder):
        answer = answers.pop(0)
        if answer is None:
            raise GridError('squeue failed: Unable to contact slurm controller')
        return answer

    monkeypatch.setattr(launch, 'queue', queue)
    assert launch._wait([job], tmp_path) == 1
    assert answers == []
    printed = capsys.readouterr()
    assert 'Unable to contact slurm controller; asking again' in printed.out
    assert 'FAILED run/0 (selu)' in printed.err


def test_waiting_for_squeue_has_an_end(job, tmp_path, monkeypatch):
    monkeypatch.setattr(launch, '_PATIENCE_SECONDS', -1.0)

    def queue(folder):
        raise GridError('squeue failed')

    monkeypatch.setattr(launch, 'queue', queue)
    with pytest.raises(GridError, match='squeue failed'):
        launch._wait([job], tmp_path)
