"""What is sent to TensorBoard and Weights & Biases, and when."""

import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import pytest

from graphgym_nc.results.aggregate import read_stats
from graphgym_nc.training.run import main

CONFIG = Path(__file__).parents[2] / 'configs' / 'nc_counting.yaml'


class FakeWandb(ModuleType):
    """Weights & Biases, which notes what it is told."""

    def __init__(self):
        super().__init__('wandb')
        self.__spec__ = ModuleSpec('wandb', None)
        self.logged, self.options, self.finished = [], {}, 0

    def init(self, **options):
        self.options = options
        return self

    def log(self, row):
        assert not self.finished
        self.logged.append(row)

    def finish(self):
        self.finished += 1


@pytest.fixture
def wandb(cfg, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    fake = FakeWandb()
    monkeypatch.setitem(sys.modules, 'wandb', fake)
    return fake


def train(*opts):
    main([
        '--cfg', str(CONFIG), 'nc.counting_graphs', '30', 'num_threads', '1',
        'dataset.dir', 'data',
        'out_dir', 'results', 'optim.max_epoch', '5', 'train.eval_period', '2',
        'wandb.use', 'True', 'wandb.mode', 'offline', 'wandb.project', 'mine', *opts,
    ])  # fmt: skip
    return Path('results') / 'nc_counting' / '0'


def test_every_epoch_is_one_row_with_all_its_splits(wandb):
    run_dir = train()
    stats = {
        split: read_stats(run_dir / split / 'stats.json') for split in ('train', 'val', 'test')
    }
    assert [row['epoch'] for row in stats['train']] == [0, 1, 2, 3, 4]
    assert [row['epoch'] for row in stats['val']] == [1, 3, 4]  # every other, and the last
    expected = [
        {
            f'{split}/{key}': value
            for split, rows in stats.items()
            for row in rows
            if row['epoch'] == epoch
            for key, value in row.items()
        }
        for epoch in range(5)
    ]
    assert wandb.logged == expected
    assert wandb.finished == 1


def test_the_run_is_named_after_its_folder(wandb):
    run_dir = train()
    assert (wandb.options['project'], wandb.options['mode']) == ('mine', 'offline')
    assert wandb.options['name'] == 'nc_counting-0'
    assert wandb.options['dir'] == str(run_dir)
    assert wandb.options['config']['optim']['max_epoch'] == 5


def test_a_run_that_fails_is_finished_too(wandb):
    with pytest.raises(SystemExit, match='not finite'):
        train('optim.base_lr', '1e30', 'optim.scheduler', 'none')
    assert wandb.finished == 1
