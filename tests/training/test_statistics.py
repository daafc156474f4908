import json
import logging
import time
from pathlib import Path

import pytest
import torch

from graphgym_nc.training.statistics import RunError, SplitLogger, logging_to


def outputs(true, pred, loss):
    return {
        'true': torch.tensor(true),
        'pred_score': torch.tensor(pred, requires_grad=True),
        'loss': torch.tensor(loss, requires_grad=True),
    }


def test_split_logger_by_hand(cfg):
    cfg.params = 17
    logger = SplitLogger('val', 'regression')
    for epoch in range(2):
        logger.start()
        logger.update(outputs([1.0, 2.0, 3.0], [1.0, 2.0, 4.0], 0.5))
        logger.update(outputs([5.0], [8.0], 2.5))
        logger.stop()
        time.sleep(0.05)  # what comes after the last batch is not the epoch's
        stats = logger.write(epoch, lr=0.125)
        assert stats['loss'] == (3 * 0.5 + 2.5) / 4
        assert (stats['mae'], stats['mse']) == (1.0, 2.5)
        assert (stats['epoch'], stats['lr'], stats['params']) == (epoch, 0.125, 17)
        assert stats['time_epoch'] == pytest.approx(2 * stats['time_iter'], abs=2e-4)
        assert stats['time_epoch'] < 0.05
    lines = (Path(cfg.run_dir) / 'val' / 'stats.json').read_text().splitlines()
    assert [json.loads(line)['epoch'] for line in lines] == [0, 1]


@pytest.mark.parametrize('split', ['train', 'val', 'test'])
def test_every_split_must_be_finite(cfg, split):
    nan, inf = float('nan'), float('inf')
    for pred, loss, what in ((nan, 0.5, f'a {split} prediction'), (1.0, inf, f'the {split} loss')):
        logger = SplitLogger(split, 'regression')
        logger.update(outputs([1.0], [1.0], 0.5))
        logger.check_finite(2)
        logger.update(outputs([1.0, 2.0], [2.0, pred], loss))
        with pytest.raises(RunError, match=f'{what} is not finite in epoch 2'):
            logger.check_finite(2)


def test_custom_metrics_take_the_place_of_the_default(cfg):
    cfg.params, cfg.custom_metrics = 1, ['accuracy_sbm']
    logger = SplitLogger('test', 'classification_multi')
    logger.start()
    logger.update(outputs([0, 0, 0, 1], [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]], 0.5))
    stats = logger.write(0)
    assert stats['accuracy_sbm'] == round((2 / 3 + 1) / 2, 4)
    assert 'accuracy' not in stats


@pytest.mark.parametrize(
    ('where', 'on_screen', 'in_file'),
    [('both', True, True), ('stdout', True, False), ('file', False, True)],
)
def test_logging_to(cfg, tmp_path, capsys, where, on_screen, in_file):
    cfg.print = where
    before = logging.root.handlers
    with logging_to(tmp_path / 'run'):
        logging.info('hello')
    assert logging.root.handlers is before
    assert ('hello' in capsys.readouterr().out) == on_screen
    path = tmp_path / 'run' / 'logging.log'
    assert (path.exists() and 'hello' in path.read_text()) == in_file
