"""Grids and trainings on a real SLURM of one node."""

import json
import re
import sys
from pathlib import Path

import pandas as pd
import pytest

from tests.sweeps.slurm.conftest import ROOT, wait_for

pytestmark = [pytest.mark.slurm, pytest.mark.xdist_group('slurm')]

FAKE = (sys.executable, str(ROOT / 'tests' / 'sweeps' / 'fake_main.py'))
CONFIG = ROOT / 'configs' / 'nc_counting.yaml'
GRID = f"""
# config: {CONFIG}
gnn.layers_mp l [1, 2]
gnn.layer_type layer ['ncgnnconv', 'nc_ginconv']
"""
SMALL = ('accelerator', 'cpu', 'nc.counting_graphs', '60', 'optim.max_epoch', '2')


def stats(run):
    """What a run has measured, without times."""
    return {
        split: [
            {key: value for key, value in json.loads(line).items()
             if not key.startswith('time') and key not in ('eta', 'memory_mb')}
            for line in (run / split / 'stats.json').read_text().splitlines()
        ]
        for split in ('train', 'val', 'test')
    }  # fmt: skip


def test_grid_with_two_seeds(cluster):
    (cluster.folder / 'toy.txt').write_text(GRID)
    site = cluster.folder / 'site.yaml'
    site.write_text('partition: main\ntime: 0-1\narray_parallelism: 1\n')
    options = ('toy.txt', '--launcher', 'slurm', '--site', 'site.yaml', '--repeat', '2', *SMALL)
    folder = cluster.folder / 'results' / 'nc_counting_grid_toy'

    planned = cluster.sweep(*options, '--dry-run')
    assert 'Would submit 8 task(s)' in planned.stdout
    assert 'partition: main' in planned.stdout
    assert not folder.exists()

    submitted = cluster.sweep(*options, '--array-parallelism', '4')
    assert submitted.returncode == 0, submitted.stderr
    number = re.search(r'Submitted 8 task\(s\) as SLURM job (\d+)', submitted.stdout)[1]
    script = (folder / 'slurm' / f'{number}_submission.sh').read_text()
    assert '--array=0-7%4' in script
    assert '--time=60' in script
    states = cluster.sweep('toy.txt', '--status').stdout.splitlines()
    assert len(states) == 9
    assert re.search(r'8 job\(s\) .* \d done, \d running, \d pending, 0 failed', states[-1])
    # What is in the queue is not submitted again, but waited for.
    waited = cluster.sweep(*options, '--wait')
    assert 'Nothing to submit' in waited.stdout
    assert waited.returncode == 0, waited.stderr

    frame = pd.read_csv(folder / 'agg' / 'test_best.csv')
    assert frame['seeds'].tolist() == [2] * 4
    assert '| ncgnnconv ' in (folder / 'report.md').read_text()
    assert "Table: '" in (folder / 'report.log').read_text()
    logs = [path.read_text() for path in folder.glob('*/*/logging.log')]
    assert len(logs) == 8
    assert sum('Drawing triangle_counting_generated_60' in text for text in logs) == 1
    assert '8 done, 0 running, 0 pending, 0 failed' in cluster.sweep('toy.txt', '--status').stdout

    jobs = (folder / 'slurm' / 'jobs.json').read_text()
    again = cluster.sweep(*options)
    assert 'Nothing to submit' in again.stdout
    assert (folder / 'slurm' / 'jobs.json').read_text() == jobs
    assert not cluster.call('squeue', '--noheader').stdout


def test_a_failure_is_listed_and_submitted_again(cluster):
    hostile = '$(touch a);`touch b`; touch c #'
    (cluster.folder / 'toy.txt').write_text(
        f'# config: {CONFIG}\ngnn.act act ["relu", "selu"]\ndataset.dir dir ["{hostile}"]\n'
    )
    refused = cluster.sweep('toy.txt', '--launcher', 'slurm', '--partition', 'nowhere')
    assert refused.returncode == 2
    assert 'SLURM did not take the jobs' in refused.stderr
    assert 'invalid partition' in refused.stderr.lower()

    options = ('toy.txt', '--launcher', 'slurm', '--wait', 'cfg_dest', '$(touch d)\n#SBATCH -x')
    first = cluster.sweep(*options, command=FAKE)
    assert first.returncode == 1
    folder = cluster.folder / 'results' / 'nc_counting_grid_toy'
    for text in (first.stderr, (folder / 'report.log').read_text()):
        assert re.search(r'FAILED nc_counting-act=selu-dir=\S+/0 \(selu\)', text)
        assert 'selu is not to be had' in text
        assert '1 job(s) failed, 1 DONE' in text
    assert pd.read_csv(folder / 'agg' / 'test_best.csv')['act'].tolist() == ['relu']
    status = cluster.sweep('toy.txt', '--status').stdout
    assert re.search(r'failed   nc_counting-act=selu-dir=\S+/0  \(selu\)', status)
    # No text of grid, configuration or folder was ever run.
    assert {path.name for path in cluster.folder.iterdir()} == {'results', 'toy.txt'}

    again = cluster.sweep(*options, command=FAKE)
    assert 'Submitted 1 task(s)' in again.stdout
    assert again.returncode == 1


def test_cancelled_requeued_and_out_of_time(cluster, tmp_path):
    (cluster.folder / 'one.txt').write_text(f'# config: {CONFIG}\ngnn.dropout drop [0.3]\n')
    long = (*SMALL[:-1], '60', 'nc.mlp_batchnorm', 'True', 'train.ckpt_period', '1')
    options = ('one.txt', '--launcher', 'slurm', *long)
    folder = cluster.folder / 'results' / 'nc_counting_grid_one'
    run = folder / 'nc_counting-drop=0.3' / '0'
    # As slow as a longer training: SLURM needs its time to act.
    script = tmp_path / 'slow_main.py'
    script.write_text(
        'import time\n'
        'from graphgym_nc.training import train\n'
        'from graphgym_nc.training.run import main\n'
        'step = train.Module.training_step\n'
        'def slow_step(*args):\n'
        '    time.sleep(0.2)\n'
        '    return step(*args)\n'
        'train.Module.training_step = slow_step\n'
        'main()\n'
    )

    slow = (sys.executable, str(script))

    def epochs():
        path = run / 'train' / 'stats.json'
        return len(path.read_text().splitlines()) if path.exists() else 0

    def number():
        return json.loads((folder / 'slurm' / 'jobs.json').read_text())['tasks'][
            f'{run.parent.name}/0'
        ]

    def resumed():
        return len(json.loads((run / 'run.json').read_text())['resumed'])

    assert cluster.sweep(*options, command=slow).returncode == 0
    wait_for(lambda: epochs() >= 3)
    cluster.call('scancel', number())
    wait_for(lambda: number() not in cluster.call('squeue', '--noheader').stdout)
    status = cluster.sweep('one.txt', '--status').stdout
    assert '(cancelled, killed or out of time; started again, it goes on)' in status

    seen = epochs()
    assert 'Submitted 1 task(s)' in cluster.sweep(*options, command=slow).stdout
    wait_for(lambda: epochs() > seen + 2)
    cluster.call('scontrol', 'requeue', number())
    wait_for(lambda: resumed() == 2)
    seen = epochs()
    wait_for(lambda: epochs() > seen + 2)
    # What SLURM sends before the time is over; submitit then requeues.
    cluster.call('scancel', '--signal=USR2', number())
    wait_for(lambda: resumed() == 3)
    waited = cluster.sweep(*options, '--wait')
    assert waited.returncode == 0, waited.stderr

    config = folder / 'configs' / f'{run.parent.name}.yaml'
    main = (sys.executable, ROOT / 'run' / 'main.py', '--cfg', config)
    assert cluster.call(*main, 'out_dir', 'undisturbed', 'num_threads', '1').returncode == 0
    assert stats(run) == stats(cluster.folder / 'undisturbed' / run.parent.name / '0')
    assert len(stats(run)['val']) == 60


def test_two_devices(cluster):
    main = (sys.executable, ROOT / 'run' / 'main.py', '--cfg', CONFIG, *SMALL, 'num_threads', '1')
    # One process for each of two devices, started by hand or by an array.
    by_hand = cluster.call('srun', '--ntasks=2', *main, 'devices', '2', 'out_dir', 'by_hand')
    assert by_hand.returncode == 0, by_hand.stderr
    (cluster.folder / 'two.txt').write_text(f'# config: {CONFIG}\ndevices n [2]\n')
    batch = cluster.sweep('two.txt', '--launcher', 'slurm', '--wait', *SMALL)
    assert batch.returncode == 0, batch.stderr
    grid = cluster.folder / 'results' / 'nc_counting_grid_two' / 'nc_counting-n=2' / '0'
    assert json.loads((grid / 'run.json').read_text())['machine']['processes'] == 2
    assert stats(grid) == stats(cluster.folder / 'by_hand' / 'nc_counting' / '0')

    wrong = cluster.call('srun', '--ntasks=2', *main, 'out_dir', 'wrong')
    assert wrong.returncode == 1
    assert "srun has started 2 process(es), but 'devices' x 'num_nodes' is 1 x 1" in wrong.stderr
    assert not Path(cluster.folder / 'wrong').exists()
