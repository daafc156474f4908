"""Runs that are interrupted, resumed, refused, failed and evaluated."""

import json
import os
import pickle
import platform
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from graphgym_nc.results.aggregate import AggError, aggregate, read_stats
from graphgym_nc.results.lock import alone_in
from graphgym_nc.training.checkpoint import CheckpointCallback
from graphgym_nc.training.run import main

ROOT = Path(__file__).parents[2]
CONFIG = ROOT / 'configs' / 'nc_counting.yaml'
EPOCHS = 6


def command(*opts):
    return [
        '--cfg', str(CONFIG), 'nc.counting_graphs', '60', 'num_threads', '1',
        'dataset.dir', 'data',
        'optim.max_epoch', str(EPOCHS), 'train.batch_size', '8', 'train.ckpt_period', '1',
        'gnn.dropout', '0.3', *opts,
    ]  # fmt: skip


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(cfg, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def figures(out_dir):
    """All statistics of a run but the times."""
    return {
        split: [
            {k: v for k, v in row.items() if not k.startswith(('time', 'eta', 'memory'))}
            for row in read_stats(Path(out_dir) / 'nc_counting' / '0' / split / 'stats.json')
        ]
        for split in ('train', 'val', 'test')
    }


def record(out_dir):
    return json.loads((Path(out_dir) / 'nc_counting' / '0' / 'run.json').read_text())


@pytest.fixture
def undisturbed():
    main(command('out_dir', 'whole'))
    return figures('whole')


@pytest.mark.parametrize('scheduler', ['cos', 'one_cycle', 'reduce_on_plateau'])
def test_killed_and_resumed_ends_like_an_undisturbed_run(scheduler):
    opts = ('optim.scheduler', scheduler, 'optim.schedule_patience', '0')
    main(command('out_dir', 'whole', *opts))
    script = [sys.executable, '-W', 'ignore', str(ROOT / 'run' / 'main.py')]
    stats = Path('parts/nc_counting/0/train/stats.json')
    for epochs in (2, 4):  # killed after two epochs, and again after four
        process = subprocess.Popen(
            [*script, *command('out_dir', 'parts', 'train.auto_resume', 'True', *opts)],
            stdout=subprocess.DEVNULL,
            env={**os.environ, 'OMP_NUM_THREADS': '1'},
        )
        while process.poll() is None and not (stats.exists() and len(read_stats(stats)) >= epochs):
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        process.wait()
        if len(read_stats(stats)) < EPOCHS:
            assert record('parts')['status'] == 'RUNNING'
    main(command('out_dir', 'parts', 'train.auto_resume', 'True', *opts))
    assert figures('parts') == figures('whole')
    assert record('parts')['status'] == 'DONE'
    assert record('parts')['resumed']


@pytest.fixture
def interruptible():
    """A shell that starts tests in the background makes them and their children ignore Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize(('signum', 'code'), [(signal.SIGTERM, 143), (signal.SIGINT, 1)])
def test_a_signal_interrupts_and_does_not_fail(signum, code, interruptible):
    script = [sys.executable, '-W', 'ignore', str(ROOT / 'run' / 'main.py')]
    process = subprocess.Popen(
        [*script, *command('out_dir', 'parts', 'optim.max_epoch', '5000')],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    stats = Path('parts/nc_counting/0/train/stats.json')
    while process.poll() is None and not stats.exists():
        time.sleep(0.01)
    process.send_signal(signum)
    assert process.wait() == code
    assert record('parts')['status'] == 'RUNNING'
    assert 'INTERRUPTED' in Path('parts/nc_counting/0/logging.log').read_text()


def test_killed_between_statistics_and_checkpoint(undisturbed, tmp_path):
    main(command('out_dir', 'parts', 'optim.max_epoch', '3'))
    run = Path('parts/nc_counting/0')
    # As if epoch 3 had been evaluated and logged, but never saved.
    for split in ('val', 'test'):
        path = run / split / 'stats.json'
        path.write_text(
            path.read_text() + json.dumps({'epoch': 3, 'mae': 0.0, 'loss': 0.0}) + '\n'
        )
    facts = record('parts')
    del facts['config']  # which says three epochs
    (run / 'run.json').write_text(json.dumps({**facts, 'status': 'RUNNING'}))
    (run.parent / 'config.yaml').unlink()
    main(command('out_dir', 'parts', 'train.auto_resume', 'True', 'optim.scheduler', 'none'))
    epochs = [row['epoch'] for row in figures('parts')['val']]
    assert epochs == list(range(EPOCHS))
    assert figures('parts')['val'][3]['mae'] > 0


def test_done_is_left_alone(undisturbed):
    before = (Path('whole') / 'nc_counting' / '0' / 'run.json').stat().st_mtime_ns
    main(command('out_dir', 'whole', 'train.auto_resume', 'True'))
    assert (Path('whole') / 'nc_counting' / '0' / 'run.json').stat().st_mtime_ns == before
    assert figures('whole') == undisturbed


def test_interrupted_is_not_run_over():
    main(command('out_dir', 'parts', 'optim.max_epoch', '1'))
    path = Path('parts/nc_counting/0/run.json')
    path.write_text(json.dumps({**record('parts'), 'status': 'RUNNING'}))
    with pytest.raises(
        SystemExit, match=r'unfinished run .*it was interrupted.*train.auto_resume True'
    ):
        main(command('out_dir', 'parts', 'optim.max_epoch', '1'))
    # Another configuration must not go on with it.
    with pytest.raises(SystemExit, match=r'must not be mixed: gnn.dim_inner \(64, now 8\)'):
        main(command(
            'out_dir', 'parts', 'optim.max_epoch', '1', 'gnn.dim_inner', '8',
            'train.auto_resume', 'True',
        ))  # fmt: skip


def test_seeds_on_other_data_are_not_mixed(undisturbed):
    path = Path('whole/nc_counting/0/run.json')
    path.write_text(json.dumps({**record('whole'), 'data_fingerprint': 'another'}))
    with pytest.raises(SystemExit, match=r'was run on other data \(generated, seed 0\)'):
        main(command('out_dir', 'whole', 'seed', '1'))


def files(folder):
    return {path: path.read_bytes() for path in Path(folder).rglob('*') if path.is_file()}


@pytest.mark.parametrize('opts', [(), ('--overwrite',), ('train.auto_resume', 'True')])
def test_nothing_is_touched_while_another_process_is_there(undisturbed, opts):
    with alone_in(Path('whole/nc_counting/0')):
        before = files('whole')
        with pytest.raises(SystemExit, match="is working in 'whole/nc_counting/0'"):
            main(command('out_dir', 'whole', *opts))
        assert files('whole') == before


def test_overwrite_leaves_the_other_seeds_until_it_is_their_turn(undisturbed, monkeypatch):
    main(command('out_dir', 'whole', 'seed', '1'))
    second = files('whole/nc_counting/1')

    def interrupted(config):
        raise KeyboardInterrupt

    monkeypatch.setattr('graphgym_nc.training.run.run_seed', interrupted)
    with pytest.raises(KeyboardInterrupt):
        main(command('out_dir', 'whole', '--overwrite', '--repeat', '2'))
    assert not Path('whole/nc_counting/0').joinpath('run.json').exists()
    assert files('whole/nc_counting/1') == second


def test_an_interrupted_overwrite_does_not_mix_configurations(undisturbed, monkeypatch):
    main(command('out_dir', 'whole', 'seed', '1'))
    again = command('out_dir', 'whole', '--repeat', '2', 'gnn.dim_inner', '8')
    with alone_in(Path('whole/nc_counting/1')), pytest.raises(SystemExit, match='another process'):
        main([*again, '--overwrite'])
    with pytest.raises(AggError, match=r'differ in their configuration \(gnn.dim_inner\)'):
        aggregate(Path('whole/nc_counting'))
    with pytest.raises(SystemExit, match=r"nc_counting/1' was run with another configuration"):
        main([*again, 'train.auto_resume', 'True'])


def test_a_full_disk_names_the_file_and_the_run_goes_on(undisturbed):
    checkpoints = Path('parts/nc_counting/0/ckpt')
    checkpoints.mkdir(parents=True)
    unfinished = checkpoints / f'last.ckpt.{platform.node()}.{os.getpid()}.unfinished'
    unfinished.symlink_to('/dev/full')
    message = (
        r"No space left on device: 'parts/nc_counting/0/ckpt/last.ckpt' needs \d\d\d,\d+ bytes; "
        r'make room, then go on with train.auto_resume True'
    )
    with pytest.raises(SystemExit, match=message):
        main(command('out_dir', 'parts'))
    assert record('parts')['status'] == 'FAILED'
    assert [path.name for path in checkpoints.iterdir()] == ['best.ckpt']
    (checkpoints / 'last.ckpt.other.unfinished').touch()  # left by a process that was killed
    main(command('out_dir', 'parts', 'train.auto_resume', 'True'))
    assert figures('parts') == undisturbed
    assert {path.name for path in checkpoints.iterdir()} == {'best.ckpt', 'last.ckpt'}


def test_a_log_on_a_full_disk_hides_nothing(undisturbed):
    log = Path('parts/nc_counting/0/logging.log')
    log.parent.mkdir(parents=True)
    log.symlink_to('/dev/full')
    main(command('out_dir', 'parts'))
    assert figures('parts') == undisturbed
    assert record('parts')['status'] == 'DONE'


def test_nan_is_a_failure_that_names_the_epoch():
    with pytest.raises(SystemExit, match='the train loss is not finite in epoch 0'):
        main(command('out_dir', 'parts', 'optim.base_lr', '1e30', 'optim.scheduler', 'none'))
    facts = record('parts')
    assert facts['status'] == 'FAILED'
    assert 'not finite in epoch' in facts['reason']
    log = Path('parts/nc_counting/0/logging.log').read_text()
    assert 'FAILED: the train loss is not finite in epoch 0' in log
    assert 'Traceback' not in log


def test_nan_after_the_only_batch_of_an_epoch_is_a_failure_of_validation():
    once = ('train.batch_size', '64', 'optim.scheduler', 'none')
    message = 'the val loss is not finite in epoch 0'
    with pytest.raises(SystemExit, match=message):
        main(command('out_dir', 'parts', 'optim.base_lr', '1e30', *once))
    assert record('parts')['reason'] == f'RunError: {message}'


def test_record_says_what_a_run_was(undisturbed):
    facts = record('whole')
    assert facts['status'] == 'DONE'
    assert facts['seed'] == 0
    assert torch.__version__.startswith(facts['versions']['torch'])
    assert facts['data_source'] == 'generated, seed 0'
    assert len(facts['data_fingerprint']) == 16
    assert (facts['metric'], facts['minimise']) == ('mae', True)
    assert facts['started'] <= facts['ended']
    assert facts['machine']['cpus'] == os.cpu_count()


def test_early_stopping():
    main(command(
        'out_dir', 'parts', 'optim.base_lr', '0.0', 'train.early_stopping', '2',
        'gnn.dropout', '0.0', 'optim.max_epoch', '50',
    ))  # fmt: skip
    assert len(figures('parts')['train']) == 3  # best in epoch 0, none better in 1 and 2


def test_killed_after_early_stopping():
    opts = (
        'out_dir', 'parts', 'optim.base_lr', '0.0', 'train.early_stopping', '2',
        'gnn.dropout', '0.0', 'optim.max_epoch', '50',
    )  # fmt: skip
    main(command(*opts))
    before = figures('parts')
    path = Path('parts/nc_counting/0/run.json')
    path.write_text(json.dumps({**record('parts'), 'status': 'RUNNING'}))
    main(command(*opts, 'train.auto_resume', 'True'))
    assert record('parts')['status'] == 'DONE'
    assert figures('parts') == before


def test_checkpoints_that_are_kept():
    main(command('out_dir', 'a', 'train.ckpt_period', '4'))
    names = {path.name for path in Path('a/nc_counting/0/ckpt').iterdir()}
    assert names == {'last.ckpt', 'best.ckpt'}
    main(command('out_dir', 'b', 'train.ckpt_period', '4', 'train.ckpt_clean', 'False'))
    names = {path.name for path in Path('b/nc_counting/0/ckpt').iterdir()}
    assert names == {'last.ckpt', 'best.ckpt', 'epoch_3.ckpt', 'epoch_5.ckpt'}
    main(command('out_dir', 'c', 'train.enable_ckpt', 'False'))
    assert not Path('c/nc_counting/0/ckpt').exists()


def test_a_checkpoint_at_least_every_minute(monkeypatch):
    saved = []
    save = CheckpointCallback._save
    monkeypatch.setattr(
        CheckpointCallback, '_save', lambda *args: saved.append(args[2]) or save(*args)
    )
    main(command('out_dir', 'a', 'train.ckpt_period', '4'))
    assert saved.count('last.ckpt') == 2  # after epochs 3 and 5
    monkeypatch.setattr('graphgym_nc.training.checkpoint._SECONDS', -1.0)
    saved.clear()
    main(command('out_dir', 'b', 'train.ckpt_period', '4', 'train.ckpt_clean', 'False'))
    assert saved.count('last.ckpt') == EPOCHS
    assert [name for name in saved if name.startswith('epoch')] == ['epoch_3.ckpt', 'epoch_5.ckpt']


@pytest.mark.parametrize('split', ['train', 'val', 'test'])
def test_eval_of_a_saved_model(undisturbed, split, capsys):
    capsys.readouterr()
    main(
        [
            '--eval',
            'whole/nc_counting/0/ckpt/best.ckpt',
            '--split',
            split,
            '--out',
            'p.pt',
            *command(),
        ]
    )
    printed = json.loads(capsys.readouterr().out.splitlines()[0])
    best = min(undisturbed['val'], key=lambda row: row['mae'])['epoch']
    if split != 'train':  # training statistics are those of a moving model, with dropout
        row = undisturbed[split][best]
        assert (printed['mae'], printed['loss']) == (row['mae'], row['loss'])
    saved = torch.load('p.pt')
    assert (
        saved['pred'].shape
        == saved['true'].shape
        == ({'train': 18, 'val': 12, 'test': 30}[split],)
    )
    mae = (saved['pred'] - saved['true']).abs().mean().item()
    assert mae == pytest.approx(printed['mae'], abs=1e-4)


def test_eval_of_what_is_no_checkpoint(undisturbed):
    with pytest.raises(SystemExit, match=r"there is no checkpoint 'no.ckpt'"):
        main(['--eval', 'no.ckpt', *command()])
    with pytest.raises(SystemExit, match='is not a checkpoint of this configuration'):
        main(['--eval', 'whole/nc_counting/0/ckpt/best.ckpt', *command('gnn.dim_inner', '8')])


@pytest.mark.parametrize(
    'content', [b'', b'epoch 1', b'e', b'\x89PNG\r\n', b'PK\x03\x04', pickle.dumps(Path())]
)
def test_eval_of_a_foreign_file(content):
    Path('x.ckpt').write_bytes(content)
    with pytest.raises(SystemExit, match=r"'x.ckpt' is not a checkpoint that 'graphgym-nc train'"):
        main(['--eval', 'x.ckpt', *command()])


@pytest.mark.parametrize(
    'opts',
    [
        ('optim.clip_grad_norm', '0.001', 'optim.optimizer', 'sgd'),
        ('optim.batch_accumulation', '2'),
        ('train.precision', 'bf16-mixed'),
        ('train.deterministic', 'True'),
        ('optim.scheduler', 'cosine_with_warmup'),
        ('optim.scheduler', 'steps'),
    ],
    ids=lambda opts: opts[0],
)
def test_options_of_training_act(undisturbed, opts):
    main(command('out_dir', 'other', *opts))
    changed = figures('other')['train'] != undisturbed['train']
    assert changed == (opts[0] != 'train.deterministic')


def test_the_loss_is_not_divided_by_the_number_of_batches_that_make_a_step():
    still = ('optim.base_lr', '0.0', 'gnn.dropout', '0.0', 'optim.max_epoch', '1')
    losses = []
    for number in ('1', '3'):
        main(command('out_dir', f'by{number}', 'optim.batch_accumulation', number, *still))
        (row,) = figures(f'by{number}')['train']
        losses.append(row['loss'])
        assert row['loss'] == pytest.approx(row['mae'], abs=1e-3)  # the loss is the mean error
    assert losses[0] == pytest.approx(losses[1], rel=1e-3)


def test_tensorboard_or_none(undisturbed, monkeypatch):
    pytest.importorskip('tensorboard')
    main(command('out_dir', 'tb', 'tensorboard_each_run', 'True'))
    assert list(Path('tb/nc_counting/0/val').glob('events.out.tfevents.*'))
    monkeypatch.setitem(sys.modules, 'torch.utils.tensorboard', None)
    main(command('out_dir', 'none', 'tensorboard_each_run', 'True'))
    assert 'TensorBoard is not installed' in Path('none/nc_counting/0/logging.log').read_text()
    assert figures('none') == figures('tb') == undisturbed


def test_wandb_that_is_not_installed(monkeypatch):
    monkeypatch.setattr('importlib.util.find_spec', lambda name: None)
    with pytest.raises(SystemExit, match='pip install wandb'):
        main(command('out_dir', 'none', 'wandb.use', 'True'))
    assert not Path('none').exists()


def test_read_only_folder(tmp_path, undisturbed):
    if os.geteuid() == 0:
        Path('blocked').write_text('a file where a folder should be')
        out_dir = 'blocked'
    else:
        Path('blocked').mkdir(mode=0o500)
        out_dir = 'blocked'
    with pytest.raises(SystemExit, match='blocked'):
        main(command('out_dir', out_dir))
    assert figures('whole') == undisturbed
