"""One training in several processes, on the CPU."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from graphgym_nc.graphgym.validation import ConfigError
from graphgym_nc.training.data import DataModule
from graphgym_nc.training.processes import (
    available_threads,
    check_processes,
    cluster_environment,
    process_number,
    together,
)
from graphgym_nc.training.run import prepare_machine

ROOT = Path(__file__).parents[2]

# run/main.py in double precision, so that what is left of differences is rounding alone; it
# keeps the gradient of the first step.
MAIN = """
import torch
from graphgym_nc.training import train
from graphgym_nc.training.run import main
from graphgym_nc.utils.distributed import is_first
from torch_geometric.graphgym.config import cfg

class Module(train.Module):
    def forward(self, batch):
        batch.x = batch.x.double()
        return super().forward(batch)

    def on_before_optimizer_step(self, optimizer):
        if is_first() and self.global_step == 0:
            grads = {name: p.grad for name, p in self.named_parameters()}
            torch.save(grads, f'{cfg.run_dir}/grads.pt')

torch.set_default_dtype(torch.double)
train.Module = Module
main()
"""
# Batches of 4 of 11 graphs: shares of 2, and of 1 and 2 in the last.
KEYS = (
    'accelerator', 'cpu', 'num_threads', '1', 'nc.sbm_source', 'generated', 'nc.sbm_graphs',
    '[11,7,7]', 'train.batch_size', '4', 'gnn.layers_mp', '2', 'gnn.dim_inner', '12',
    'gnn.batchnorm', 'True', 'sync_batchnorm', 'True', 'optim.scheduler', 'steps',
    'optim.steps', '[100]', 'train.ckpt_period', '1',
)  # fmt: skip
NAME = 'nc_cluster_4l_100k'


def run(folder, *opts, program=('double_main.py',)):
    config = ROOT / 'configs' / f'{NAME}.yaml'
    return subprocess.run(
        [sys.executable, *program, '--cfg', str(config), *KEYS, *opts],
        cwd=folder,
        env={**os.environ, 'PYTHONPATH': str(ROOT), 'OMP_NUM_THREADS': '1'},
        capture_output=True,
        text=True,
        check=False,
    )


def stats(run_dir):
    return {
        split: [
            {key: value for key, value in json.loads(line).items()
             if key in ('epoch', 'loss', 'lr', 'accuracy_sbm')}
            for line in (run_dir / split / 'stats.json').read_text().splitlines()
        ]
        for split in ('train', 'val', 'test')
    }  # fmt: skip


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    """Four epochs on one device; and two on two devices, then two more on one."""
    folder = tmp_path_factory.mktemp('processes')
    (folder / 'double_main.py').write_text(MAIN)
    one = run(folder, 'out_dir', 'one', 'optim.max_epoch', '4')
    assert one.returncode == 0, one.stderr
    module = ('-m', 'double_main')  # torchrun must start it as a module again
    two = run(folder, 'out_dir', 'two', 'optim.max_epoch', '2', 'devices', '2', program=module)
    assert two.returncode == 0, two.stderr
    run_dir = folder / 'two' / NAME / '0'
    record = json.loads((run_dir / 'run.json').read_text())
    assert record['machine']['processes'] == 2
    record['config']['optim.max_epoch'] = 4  # as if it had been interrupted
    (run_dir / 'run.json').write_text(json.dumps({**record, 'status': 'RUNNING'}))
    back = run(folder, 'out_dir', 'two', 'optim.max_epoch', '4', 'train.auto_resume', 'True')
    assert back.returncode == 0, back.stderr
    return folder


def test_gradients_are_those_of_one_process(folder):
    one, two = (torch.load(folder / name / NAME / '0' / 'grads.pt') for name in ('one', 'two'))
    assert one.keys() == two.keys()
    for name in one:
        torch.testing.assert_close(two[name], one[name], rtol=1e-9, atol=1e-12)


def test_curves_are_those_of_one_process(folder):
    one, two = (stats(folder / name / NAME / '0') for name in ('one', 'two'))
    assert [row['epoch'] for row in two['val']] == [0, 1, 2, 3]  # written by one process
    assert two == one
    log = (folder / 'two' / NAME / '0' / 'logging.log').read_text()
    assert 'Going on with epoch 2' in log


def test_metrics_of_the_whole_split(folder):
    """What --eval, in one process, says of the best model of all four epochs."""
    run_dir = folder / 'one' / NAME / '0'
    best = max(stats(run_dir)['val'], key=lambda row: row['accuracy_sbm'])
    checkpoint = f'two/{NAME}/0/ckpt/best.ckpt'
    answer = run(folder, '--eval', checkpoint, '--split', 'val')
    printed = json.loads(answer.stdout.splitlines()[-1])
    assert printed['accuracy_sbm'] == best['accuracy_sbm']


def test_all_processes_stop_at_an_error(folder):
    again = run(folder, 'out_dir', 'two', 'optim.max_epoch', '4', 'devices', '2')
    assert again.returncode == 1
    assert again.stderr.count("there are results in 'two/") == 1


def test_a_graph_is_never_divided(cfg, monkeypatch):
    monkeypatch.setattr('graphgym_nc.training.loader.world_size', lambda: 4)
    monkeypatch.setattr('graphgym_nc.utils.distributed.world_size', lambda: 4)
    cfg.dataset.format, cfg.dataset.name, cfg.dataset.task = 'NC', 'TriangleCounting', 'graph'
    cfg.nc.counting_graphs = 10  # 3 of them for training
    with pytest.raises(ConfigError, match=r"a split of 'TriangleCounting' has only 3 graph\(s\)"):
        DataModule()


@pytest.fixture
def env(monkeypatch):
    for name in [name for name in os.environ if name.startswith(('SLURM_', 'TORCHELASTIC'))]:
        monkeypatch.delenv(name)
    return monkeypatch


def srun(env, tasks, nodes, number=0):
    env.setenv('SLURM_STEP_ID', '0')
    env.setenv('SLURM_STEP_NUM_NODES', str(nodes))
    env.setenv('SLURM_NTASKS', str(tasks))
    env.setenv('SLURM_PROCID', str(number))


@pytest.mark.parametrize(
    ('tasks', 'nodes', 'message'),
    [
        (1, 1, r"srun has started 1 process\(es\), but 'devices' x 'num_nodes' is 2 x 2"),
        (8, 2, r'srun has started 8 process\(es\)'),
        (4, 1, r'srun has started on 1 node\(s\)'),
        (4, 2, None),
    ],
)
def test_as_many_tasks_as_devices(cfg, env, tasks, nodes, message):
    cfg.devices, cfg.num_nodes = 2, 2
    srun(env, tasks, nodes, number=3)
    assert process_number() == 3
    if message is None:
        check_processes()
        assert cluster_environment().global_rank() == 3
    else:
        with pytest.raises(ConfigError, match=message), together():
            pass


def test_torchrun_of_another_size(cfg, env):
    cfg.devices = 2
    env.setenv('TORCHELASTIC_RUN_ID', 'none')
    env.setenv('WORLD_SIZE', '3')
    with pytest.raises(ConfigError, match=r'torchrun has started 3 process\(es\)'):
        check_processes()


def test_several_nodes_need_srun(cfg, env):
    cfg.num_nodes = 3
    with pytest.raises(ConfigError, match='srun --nodes=3 --ntasks-per-node=1'):
        check_processes()


def test_more_devices_than_gpus(cfg, env):
    cfg.devices, cfg.accelerator = 2, 'gpu'
    env.setattr('torch.cuda.device_count', lambda: 1)
    with pytest.raises(ConfigError, match=r"'devices' is 2, but 1 GPU\(s\) are visible"):
        check_processes()


def test_one_task_of_srun_is_an_ordinary_process(cfg, env):
    srun(env, 1, 1)
    with together():
        assert cluster_environment().world_size() == 1


@pytest.mark.parametrize(
    ('cores', 'on_node', 'share'),
    [(4, 8, 4), (8, 8, 4), (4, 4, 2), (2, 8, 2), (1, 1, 1)],
    ids=['bound', 'not bound', 'not bound, 4 cores', 'bound to half', 'one core'],
)
def test_cores_that_srun_has_shared_out_are_not_divided_again(env, cores, on_node, share):
    env.setattr('graphgym_nc.training.processes.available_cpus', lambda: cores)
    srun(env, 2, 1)
    env.setenv('SLURM_CPUS_ON_NODE', str(on_node))
    assert available_threads(2) == share
    assert available_threads(1) == cores  # --check and --eval, in this process alone


def test_cores_are_divided_among_processes_of_torchrun(cfg, env):
    env.setattr('graphgym_nc.training.processes.available_cpus', lambda: 4)
    assert available_threads(2) == 2
    env.setenv('TORCHELASTIC_RUN_ID', 'none')
    assert available_threads(2) == 2


def test_torchrun_starts_processes_with_their_share_of_threads(cfg, env):
    cfg.devices, cfg.num_threads = 2, 16
    env.setattr(os, 'sched_getaffinity', lambda pid: {0, 1, 2, 3}, raising=False)
    env.delenv('OMP_NUM_THREADS', raising=False)

    def become(*args):
        raise RuntimeError(f'{os.environ["OMP_NUM_THREADS"]} threads')

    env.setattr(os, 'execv', become)
    before = torch.get_num_threads()
    try:
        prepare_machine(2)
        with pytest.raises(RuntimeError, match='2 threads'), together():
            pass
    finally:
        torch.set_num_threads(before)
        os.environ.pop('OMP_NUM_THREADS', None)
