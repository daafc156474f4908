import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest
from torch_geometric.graphgym.config import cfg as global_cfg
from torch_geometric.graphgym.config import set_cfg
from yacs.config import CfgNode

import graphgym_nc  # noqa: F401

# A time limit per example would fail on a busy machine.
hypothesis.settings.register_profile('no deadline', deadline=None)
hypothesis.settings.load_profile('no deadline')


@pytest.fixture
def cfg(tmp_path: Path) -> Iterator[CfgNode]:
    """GraphGym's configuration, fresh, on the CPU, with folders of its own."""
    set_cfg(global_cfg)
    global_cfg.accelerator = 'cpu'
    global_cfg.out_dir = str(tmp_path / 'results')
    global_cfg.run_dir = str(tmp_path / 'results' / 'run' / '0')
    global_cfg.dataset.dir = str(tmp_path / 'datasets')
    global_cfg.tensorboard_agg = False
    global_cfg.num_threads = 2
    yield global_cfg
    set_cfg(global_cfg)


@pytest.fixture(scope='session')
def shared_data() -> Path:
    """The folder of real data, which is not part of the repository."""
    path = Path(os.environ.get('GRAPHGYM_NC_DATA', ''))
    if not (path / 'unpack.py').is_file():
        pytest.skip('no real data: set GRAPHGYM_NC_DATA to where it is')
    return path


@pytest.fixture(scope='session')
def planetoid_dir(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A `dataset.dir` with the raw files of Cora and CiteSeer, as GraphGym looks for them."""
    root = tmp_path_factory.mktemp('planetoid')
    for name in ('Cora', 'CiteSeer'):
        raw = root / name / name / 'raw'
        command = [sys.executable, shared_data / 'unpack.py', 'planetoid', name, raw]
        subprocess.run(command, check=True)
    return root
