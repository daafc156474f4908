"""The package as a user installs it: from a wheel, used in an empty folder."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pandas as pd
import pytest

from tests.sweeps.slurm.conftest import slurm_conf  # noqa: F401

# One worker builds it, and the one that starts a SLURM.
pytestmark = pytest.mark.xdist_group('slurm')

TOP = Path(__file__).parents[2]
SOURCES = ('graphgym_nc', 'configs', 'grids', 'graphgym_nc_command.py', 'pyproject.toml',
           'README.md', 'LICENSE')  # fmt: skip
TINY = ('nc.counting_graphs', '40', 'accelerator', 'cpu', 'num_threads', '1')


def call(*command, **kwargs):
    words = [str(word) for word in command]
    return subprocess.run(words, capture_output=True, text=True, check=False, **kwargs)


@pytest.fixture(scope='module')
def wheel(tmp_path_factory):
    """The wheel, built from a copy: a build leaves files among its sources."""
    sources = tmp_path_factory.mktemp('sources')
    for name in SOURCES:
        if (TOP / name).is_dir():
            unwanted = shutil.ignore_patterns('__pycache__')
            shutil.copytree(TOP / name, sources / name, symlinks=True, ignore=unwanted)
        else:
            shutil.copy(TOP / name, sources)
    out = tmp_path_factory.mktemp('wheel')
    pip = (sys.executable, '-m', 'pip')
    built = call(*pip, 'wheel', '--no-deps', '--no-build-isolation', '-w', out, sources)
    assert built.returncode == 0, built.stderr
    (path,) = out.glob('*.whl')
    return path


@pytest.fixture(scope='module')
def graphgym_nc(wheel, tmp_path_factory):
    """Calls the installed command in a folder of its own, which was empty at first."""
    environment = tmp_path_factory.mktemp('environment')
    venv.create(environment)
    python = environment / 'bin' / 'python'
    pip = (sys.executable, '-m', 'pip', '--python', python)
    installed = call(*pip, 'install', '--no-deps', '--no-index', wheel)
    assert installed.returncode == 0, installed.stderr
    # What this Python imports is there, too, except for the checkout.
    others = [path for path in sys.path if path and not (Path(path) / 'graphgym_nc').exists()]
    scheme = {'base': str(environment), 'platbase': str(environment)}
    site = Path(sysconfig.get_path('purelib', 'venv', scheme))
    (site / 'others.pth').write_text('\n'.join(others))
    folder = tmp_path_factory.mktemp('an empty folder')

    def run(*args, program='graphgym-nc'):
        env = {key: value for key, value in os.environ.items() if key != 'PYTHONPATH'}
        return call(environment / 'bin' / program, *args, cwd=folder, env=env)

    where = run('-c', 'import graphgym_nc; print(graphgym_nc.__file__)', program='python')
    assert Path(where.stdout.strip()).is_relative_to(environment)
    run.folder = folder
    return run


def test_train(graphgym_nc):
    done = graphgym_nc('train', '--cfg', 'nc_counting', *TINY, 'optim.max_epoch', '1')
    assert done.returncode == 0, done.stderr
    record = json.loads((graphgym_nc.folder / 'results/nc_counting/0/run.json').read_text())
    assert record['status'] == 'DONE'


def test_sweep_and_its_tables(graphgym_nc):
    done = graphgym_nc('sweep', 'smoke', '--jobs', '2', 'accelerator', 'cpu')
    assert done.returncode == 0, done.stderr
    results = graphgym_nc.folder / 'results' / 'nc_counting_grid_smoke'
    shutil.rmtree(results / 'agg')
    for command in (('agg', '--dir', results), ('report', results)):
        done = graphgym_nc(*command)
        assert done.returncode == 0, done.stderr
    layers = {'ncgnnconv', 'nc_ginconv'}
    assert set(pd.read_csv(results / 'agg' / 'test_best.csv')['layer']) == layers
    assert set(pd.read_csv(results / 'report.csv')['layer']) == layers


@pytest.mark.slurm
def test_sweep_on_slurm(graphgym_nc, slurm_conf, monkeypatch):  # noqa: F811
    monkeypatch.setenv('SLURM_CONF', str(slurm_conf))
    options = ('--launcher', 'slurm', '--wait', '--time', '10')
    done = graphgym_nc('sweep', 'smoke', *options, 'accelerator', 'cpu', 'out_dir', 'on_slurm')
    assert done.returncode == 0, done.stdout + done.stderr
    report = graphgym_nc.folder / 'on_slurm' / 'nc_counting_grid_smoke' / 'report.csv'
    assert len(pd.read_csv(report)) == 4
