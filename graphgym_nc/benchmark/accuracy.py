"""How long a model trains until it is so good."""

import math
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from torch_geometric.graphgym.config import cfg

from graphgym_nc.benchmark.step import prepare
from graphgym_nc.results.aggregate import read_stats
from graphgym_nc.training.train import train


class Curve(NamedTuple):
    """What a run has reached, epoch by epoch.

    Attributes:
        run: Its name.
        seconds: The time of training, evaluation apart, up to the end of every epoch.
        accuracy: The accuracy on validation, in percent.
    """

    run: str
    seconds: list[float]
    accuracy: list[float]

    def row(self, target: float) -> dict[str, Any]:
        """What to tell, given the accuracy to be reached; not a number, if it never is."""
        reached = zip(self.seconds, self.accuracy, strict=True)
        return {
            'run': self.run,
            'epochs': len(self.seconds),
            's/epoch': self.seconds[-1] / len(self.seconds),
            'best, %': max(self.accuracy),
            f's to {target:g} %': next((s for s, value in reached if value >= target), math.nan),
        }


def measure_accuracy(config: Path, options: Sequence[str]) -> Curve:
    """Trains a configuration as :obj:`run/main.py` would, and evaluates it after every epoch."""
    with TemporaryDirectory() as folder:
        train(*prepare(config, options, Path(folder)))
        training, validation = (
            read_stats(Path(cfg.run_dir) / split / 'stats.json') for split in ('train', 'val')
        )
    return Curve(
        config.stem,
        list(accumulate(row['time_epoch'] for row in training)),
        [100 * row[cfg.metric_best] for row in validation],
    )
