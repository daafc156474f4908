"""A whole sweep, of jobs of a stand-in for run/main.py: see fake_main.py."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

from graphgym_nc.cli.sweep import main
from graphgym_nc.results.lock import alone_in, try_lock

FAKE = (sys.executable, str(Path(__file__).parent / 'fake_main.py'))
ROOT = Path(__file__).parents[2]
GRID = f"""
# config: {ROOT / 'configs' / 'nc_counting.yaml'}
gnn.layers_mp l [1, 2]
gnn.act act ['relu', 'elu']
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Runs a sweep in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'toy.txt').write_text(GRID)
    return lambda *args: main(['toy.txt', *args], FAKE)


@pytest.fixture
def folder(tmp_path):
    return tmp_path / 'results' / 'nc_counting_grid_toy'


def starts(folder):
    """How often each job was started."""
    return {
        '/'.join(path.parts[-3:-1]): [json.loads(line) for line in path.read_text().splitlines()]
        for path in folder.glob('*/*/starts')
    }


def wait_for(condition):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def start(*args):
    """Starts a sweep in a process of its own."""
    code = 'import sys; from graphgym_nc.cli.sweep import main\n'
    code += f'sys.exit(main(sys.argv[1:], {FAKE}))'
    env = {**os.environ, 'PYTHONPATH': str(ROOT)}
    return subprocess.Popen(
        [sys.executable, '-c', code, 'toy.txt', *args], env=env, stdout=subprocess.DEVNULL
    )


def test_from_grid_to_tables(run, folder):
    assert run('--repeat', '2', '--jobs', '2') == 0
    frame = pd.read_csv(folder / 'agg' / 'test_best.csv')
    assert frame['l'].tolist() == [1, 1, 2, 2]
    assert frame['act'].tolist() == ['elu', 'relu', 'elu', 'relu']
    assert frame['seeds'].tolist() == [2] * 4
    assert frame['mae'].tolist() == [1 / 40, 1 / 40, 2 / 40, 2 / 40]
    runs = folder / 'nc_counting-l=1-act=elu'
    assert {path.name for path in runs.glob('[!.]*')} == {'0', '1', 'agg'}
    # The data, once.
    assert (folder / 'prepared').read_text() == 'nc_counting-l=1-act=relu\n'
    for (row,) in starts(folder).values():
        assert row['train.auto_resume'] == 'True'
        assert row['num_threads'] == row['OMP_NUM_THREADS']


def test_one_bad_config_does_not_stop_the_others(run, folder, capsys):
    text = GRID.replace("'elu'", "'selu'")
    Path('toy.txt').write_text(text)
    assert run() == 1
    err = capsys.readouterr().err
    assert 'FAILED nc_counting-l=1-act=selu/0 (exit code 1)' in err
    assert err.count('selu is not to be had') == 2
    assert '2 job(s) failed, 2 DONE' in err
    assert pd.read_csv(folder / 'agg' / 'val_best.csv')['act'].tolist() == ['relu'] * 2
    assert pd.read_csv(folder / 'agg' / 'incomplete.csv')['reason'].tolist() == ['selu'] * 2


def test_all_bad(run, folder, capsys):
    Path('toy.txt').write_text(GRID.replace("'relu', 'elu'", "'selu'"))
    assert run() == 1
    assert '2 job(s) failed, 0 DONE' in capsys.readouterr().err


def test_started_again_it_runs_what_is_new(run, folder):
    run()
    run('--repeat', '2')
    assert len(starts(folder)) == 8
    assert all(len(rows) == 1 for rows in starts(folder).values())


def test_other_settings_under_the_same_name(run, capsys):
    run()
    assert run('optim.max_epoch', '3') == 2
    assert "'optim.max_epoch: 40', but now it is '3'" in capsys.readouterr().err
    assert run('optim.max_epoch', '3', 'out_dir', 'elsewhere') == 0


def test_dry_run_writes_nothing(run, tmp_path, capsys):
    assert run('--dry-run', '--repeat', '3') == 0
    out = capsys.readouterr().out
    assert '4 configuration(s) x 3 seed(s) = 12 job(s), 0 of them DONE' in out
    assert 'MISSING  nc_counting-l=2-act=elu/2' in out
    assert not (tmp_path / 'results').exists()


def test_an_out_dir_that_is_no_text(run, tmp_path, capsys):
    (tmp_path / 'number.yaml').write_text('out_dir: 5')
    assert run('--config', str(tmp_path / 'number.yaml')) == 2
    assert "'out_dir' is 5 (int), but must be of type str" in capsys.readouterr().err


@pytest.mark.parametrize(
    ('args', 'message'),
    [
        (['gnn.dropot', '0.5'], "Did you mean 'gnn.dropout'"),
        (['--config', 'nowhere.yaml'], 'no configuration file'),
        (['--sample', '1', '--compare', 'agg'], "no alias 'agg'"),
    ],
)
def test_errors_before_the_first_job(run, tmp_path, capsys, args, message):
    assert run(*args) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / 'results').exists()


@pytest.mark.parametrize(
    'args',
    [
        ['--repeat', '0'],
        ['--jobs', '-1'],
        ['--tpyo'],
        ['--compare', 'act'],
        ['--wait'],
        ['--partition', 'main'],
        ['--launcher', 'slurm', '--jobs', '2'],
        ['--launcher', 'pbs'],
    ],
)
def test_bad_arguments(run, args):
    with pytest.raises(SystemExit) as error:
        run(*args)
    assert error.value.code == 2


def test_folder_that_cannot_be_written(run, tmp_path, capsys):
    (tmp_path / 'results').write_text('a file')
    assert run() == 2
    assert 'results' in capsys.readouterr().err


def test_no_grid_and_no_base(run, capsys):
    assert main(['nowhere.txt'], FAKE) == 2
    Path('toy.txt').write_text('gnn.layers_mp l [1]\n')
    assert run() == 2
    assert 'toy.txt: no base configuration' in capsys.readouterr().err


def test_texts_are_never_run_by_a_shell(run, tmp_path, folder):
    Path('toy.txt').write_text(f"{GRID}dataset.dir dir ['$(touch a);`touch b`; touch c #']")
    assert run('cfg_dest', '$(touch d)') == 0
    assert {path.name for path in tmp_path.iterdir()} == {'results', 'toy.txt'}


def test_kill_9_and_start_again(run, folder):
    slow = ('train.ckpt_period', '10')
    process = start('--jobs', '2', *slow)
    wait_for(lambda: len([*folder.glob('*/*/run.json')]) >= 2)
    orphan, victim = (rows[0]['pid'] for rows in list(starts(folder).values())[:2])
    process.kill()
    process.wait()
    os.kill(victim, signal.SIGKILL)
    assert run('--jobs', '2', *slow) == 0
    rows = starts(folder)
    # One job ran on by itself, and the other was started again.
    assert sorted(len(row) for row in rows.values()) == [1, 1, 1, 2]
    assert next(row for row in rows.values() if len(row) == 2)[0]['pid'] == victim
    assert [orphan] in [[row['pid'] for row in found] for found in rows.values()]
    assert pd.read_csv(folder / 'agg' / 'test_best.csv')['seeds'].tolist() == [1] * 4


@pytest.mark.parametrize('signum', [signal.SIGINT, signal.SIGTERM])
def test_signals_end_all_jobs(run, folder, signum):
    process = start('--jobs', '2', 'train.ckpt_period', '600')
    wait_for(lambda: len([*folder.glob('*/*/run.json')]) == 2)
    process.send_signal(signum)
    assert process.wait(20) == 128 + signum
    assert len(starts(folder)) == 2
    for name, (row,) in starts(folder).items():
        with pytest.raises(ProcessLookupError):
            os.kill(row['pid'], 0)
        lock = try_lock(folder / name)
        assert lock is not None
        os.close(lock)


def test_status(run, folder, capsys):
    assert run('--status') == 2
    assert 'no sweep has been started' in capsys.readouterr().err
    Path('toy.txt').write_text(GRID.replace("'elu'", "'selu'"))
    assert run('--repeat', '2') == 1
    capsys.readouterr()
    assert run('--status') == 0
    out = capsys.readouterr().out
    assert 'failed   nc_counting-l=1-act=selu/1  (selu)' in out
    assert '8 job(s)' in out
    assert '4 done, 0 running, 0 pending, 4 failed' in out


def test_status_of_what_runs(run, folder, capsys):
    process = start('--jobs', '2', 'train.ckpt_period', '600')
    wait_for(lambda: len([*folder.glob('*/*/run.json')]) == 2)
    assert run('--status') == 0
    assert '0 done, 2 running, 2 pending, 0 failed' in capsys.readouterr().out
    process.terminate()
    process.wait(20)


def test_two_sweeps_on_one_folder(run, folder):
    args = ('--repeat', '3', 'train.ckpt_period', '2')
    process = start(*args)
    wait_for(lambda: [*folder.glob('*/*/run.json')])
    assert run(*args) == 0
    assert process.wait(60) == 0
    assert len(starts(folder)) == 12
    assert all(len(rows) == 1 for rows in starts(folder).values())
    assert pd.read_csv(folder / 'agg' / 'test_best.csv')['seeds'].tolist() == [3] * 4


def test_a_run_by_hand_is_seen_and_left_alone(run, folder, capsys):
    with alone_in(folder / 'nc_counting-l=1-act=relu' / '0'):  # as training.run does
        process = start('--jobs', '4')
        wait_for(lambda: len([*folder.glob('*/*/test/stats.json')]) == 3)
        assert process.poll() is None
        assert len(starts(folder)) == 3
        wait_for(lambda: not run('--status') and '3 done, 1 running' in capsys.readouterr().out)
    assert process.wait(60) == 0
    assert len(starts(folder)) == 4


def test_real_jobs_from_grid_to_report(tmp_path):
    (tmp_path / 'real.txt').write_text(
        f'# config: {ROOT / "configs" / "nc_counting.yaml"}\n'
        f'nc.counting_graphs graphs [40]\n'
        f'optim.max_epoch epochs [2]\n'
        # There are no edge features, which splineconv needs.
        f"gnn.layer_type layer ['ncgnnconv', 'splineconv']\n"
    )

    def python(script, *args):
        command = [sys.executable, ROOT / 'run' / script, *args]
        env = {**os.environ, 'PYTHONPATH': str(ROOT)}
        return subprocess.run(
            command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False
        )

    sweep = python('run_batch.py', 'real.txt', 'accelerator', 'cpu', 'seed', '3')
    assert sweep.returncode == 1
    assert 'layer=splineconv/3 (exit code 1)' in sweep.stderr
    assert '1 job(s) failed, 1 DONE' in sweep.stderr
    folder = tmp_path / 'results' / 'nc_counting_grid_real'
    (row,) = pd.read_csv(folder / 'agg' / 'test_best.csv').to_dict('records')
    assert (row['layer'], row['metric'], row['seeds']) == ('ncgnnconv', 'mae', 1)
    assert row['data_source'] == 'generated, seed 0'

    report = python('report.py', folder)
    assert report.returncode == 0
    assert 'Not all runs are DONE' in report.stdout
    assert (folder / 'report.md').exists()
    assert (folder / 'report.csv').exists()
