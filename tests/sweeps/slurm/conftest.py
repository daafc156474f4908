"""A real SLURM of one node, started and stopped here: see slurm.conf below."""

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from graphgym_nc.cli.sweep import TRAIN, main

ROOT = Path(__file__).parents[3]
PROGRAMS = ('munged', 'slurmctld', 'slurmd', 'sbatch', 'srun', 'squeue', 'scontrol', 'scancel')

# Two cores are given out as four, so that a machine of one core will do; a
# requeued job waits for no more than the lifetime of a credential.
CONF = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=5
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=5
SchedulerParameters=sched_interval=1
SchedulerType=sched/builtin
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
NodeName={host} NodeAddr=127.0.0.1 CPUs=4 RealMemory=1000 State=UNKNOWN
PartitionName=main Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


@pytest.fixture(scope='session')
def slurm_conf() -> Iterator[Path]:
    """Starts a SLURM, or skips."""
    with running_slurm() as conf:
        yield conf


@contextmanager
def running_slurm():
    path = f'{os.environ["PATH"]}:/usr/sbin:/sbin'
    missing = [name for name in PROGRAMS if shutil.which(name, path=path) is None]
    if missing:
        pytest.skip(f'no SLURM: {missing[0]} is not found (Debian: slurm-wlm and munge)')
    if os.geteuid() != 0:
        pytest.skip("SLURM's daemons need root")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix='slurm')))
        for name in ('state', 'spool'):
            (folder / name).mkdir()
        conf = folder / 'slurm.conf'
        host = socket.gethostname().partition('.')[0]
        conf.write_text(CONF.format(host=host, folder=folder, ports=free_ports(2)))
        (folder / 'key').write_bytes(os.urandom(1024))
        (folder / 'key').chmod(0o400)
        files = {'key-file': 'key', 'socket': 'munge.socket', 'log-file': 'munge.log',
                 'pid-file': 'munge.pid', 'seed-file': 'munge.seed'}  # fmt: skip
        options = [f'--{name}={folder / file}' for name, file in files.items()]
        munged = [shutil.which('munged', path=path), '--foreground', '--force', *options]
        stack.enter_context(daemon(munged, folder))
        wait_for((folder / 'munge.socket').exists)
        for name in ('slurmctld', 'slurmd'):
            command = [shutil.which(name, path=path), '-D', '-f', str(conf)]
            stack.enter_context(daemon(command, folder))
        env = {**os.environ, 'SLURM_CONF': str(conf)}
        sinfo = ['sinfo', '--noheader', '--format=%T']

        def is_idle():
            answer = subprocess.run(sinfo, env=env, capture_output=True, text=True, check=False)
            return 'idle' in answer.stdout

        wait_for(is_idle)
        yield conf


@contextmanager
def daemon(command, folder):
    with open(folder / f'{Path(command[0]).name}.log', 'w') as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
    try:
        yield
    finally:
        process.terminate()
        process.wait()


def free_ports(number):
    sockets = [socket.create_server(('127.0.0.1', 0)) for _ in range(number)]
    ports = [item.getsockname()[1] for item in sockets]
    for item in sockets:
        item.close()
    return ports


def wait_for(condition, seconds=120):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, 'waited in vain'
        time.sleep(0.1)


class Cluster:
    """Commands in a folder whose name needs quotes."""

    def __init__(self, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
        self.folder, self.capfd = folder, capfd

    def call(self, *command: str | Path) -> 'subprocess.CompletedProcess[str]':
        words = [str(word) for word in command]
        return subprocess.run(words, capture_output=True, text=True, timeout=240, check=False)

    def sweep(
        self, *args: str, command: Sequence[str] = TRAIN
    ) -> 'subprocess.CompletedProcess[str]':
        """Runs a sweep, in this process: imports take longer than all else."""
        self.capfd.readouterr()
        code = main(args, command)
        out, err = self.capfd.readouterr()
        return subprocess.CompletedProcess(args, code, out, err)


@pytest.fixture
def cluster(
    slurm_conf: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> Iterator[Cluster]:
    folder = tmp_path / 'a folder'
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv('SLURM_CONF', str(slurm_conf))
    monkeypatch.setenv('PYTHONPATH', str(ROOT))
    monkeypatch.setenv('OMP_NUM_THREADS', '1')
    cluster = Cluster(folder, capfd)
    yield cluster
    cluster.call('scancel', '--me')
    wait_for(lambda: not cluster.call('squeue', '--noheader').stdout)
