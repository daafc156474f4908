"""The log of a run, and the statistics of every epoch and split."""

import json
import logging
import math
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch_geometric.graphgym import register
from torch_geometric.graphgym.config import cfg
from torch_geometric.graphgym.logger import Logger
from tqdm.contrib.logging import logging_redirect_tqdm

from graphgym_nc.results.aggregate import Stats, read_stats
from graphgym_nc.utils.distributed import broadcast, first_only, is_first
from graphgym_nc.utils.files import write_atomically


class RunError(RuntimeError):
    """A run that cannot go on."""


@contextmanager
def logging_to(folder: Path) -> Iterator[None]:
    """Sends the log to :obj:`logging.log` in a folder, to the screen, or both,
    as :obj:`cfg.print` says; of several processes, the first alone.
    """
    folder.mkdir(parents=True, exist_ok=True)
    # Without any handler, logging would make one.
    handlers: list[logging.Handler] = [logging.NullHandler()]
    if is_first() and cfg.print != 'stdout':
        handlers.append(logging.FileHandler(folder / 'logging.log'))
    if is_first() and cfg.print != 'file':
        handlers.append(logging.StreamHandler(sys.stdout))
        handlers[-1].addFilter(lambda record: not getattr(record, 'file_only', False))
    before, level = logging.root.handlers, logging.root.level
    logging.root.handlers = handlers
    logging.root.setLevel(logging.INFO)
    try:
        with logging_redirect_tqdm() if is_first() else nullcontext():
            yield
    finally:
        logging.root.handlers = before
        logging.root.setLevel(level)
        for handler in handlers:
            with suppress(OSError):  # a full disk, of which another error has told
                handler.close()


class Metrics(Logger):
    """GraphGym's metrics, or those of :obj:`cfg.custom_metrics`, without its
    files.

    Tensors stay on their device until they are needed, so that no step waits
    for them.
    """

    def __init__(self, name: str, task_type: str) -> None:
        self.name, self.task_type = name, task_type
        self.start()

    def start(self) -> None:
        """Begins anew."""
        self._true: list[Tensor] = []
        self._pred: list[Tensor] = []
        self._losses: list[Tensor] = []
        self._start = time.perf_counter()
        self.seconds: float | None = None

    def stop(self) -> None:
        """Takes the time, once the device has done its work."""
        if self.seconds is None:
            self._losses[-1].item()
            self.seconds = time.perf_counter() - self._start

    def update(self, outputs: dict[str, Any]) -> None:
        """Adds a batch."""
        self._true.append(outputs['true'].detach())
        self._pred.append(outputs['pred_score'].detach())
        self._losses.append(outputs['loss'].detach() * outputs['true'].size(0))

    @property
    def true(self) -> list[Tensor]:
        """The labels of all batches."""
        return self._true

    @property
    def pred(self) -> list[Tensor]:
        """The predicted scores of all batches."""
        return self._pred

    def compute(self) -> Stats:
        """The mean loss and the metrics of all batches."""
        self._true = [true.cpu() for true in self._true]
        self._pred = [pred.float().cpu() for pred in self._pred]
        size = sum(true.size(0) for true in self._true)
        loss = float(torch.stack(self._losses).sum()) / size
        if cfg.custom_metrics:
            metrics = {
                name: register.metric_dict[name](self._true, self._pred, self.task_type)
                for name in cfg.custom_metrics
            }
        else:
            metrics = getattr(self, self.task_type)()
        return {'loss': round(loss, 6), **metrics}


class SplitLogger(Metrics):
    """Writes one line per epoch to :obj:`<run>/<split>/stats.json`.

    Args:
        name: The split.
        task_type: The task, as GraphGym names it.
        first_epoch: What an interrupted run has written of later epochs comes
            again, and is dropped.

    Attributes:
        rows: The statistics of all epochs so far.
    """

    def __init__(self, name: str, task_type: str, first_epoch: int = 0) -> None:
        super().__init__(name, task_type)
        self.path = Path(cfg.run_dir) / name / 'stats.json'
        known = read_stats(self.path) if self.path.exists() else []
        self.rows: list[Stats] = [row for row in known if row['epoch'] < first_epoch]

    def check_finite(self, epoch: int) -> None:
        """Makes sure that there are a loss and predictions.

        Raises:
            RunError: If any of them is infinite or no number.
        """
        if not broadcast(math.isfinite(float(torch.stack(self._losses).sum()))):
            raise RunError(f'the {self.name} loss is not finite in epoch {epoch}')
        if not broadcast(bool(torch.stack([p.isfinite().all() for p in self._pred]).all())):
            raise RunError(f'a {self.name} prediction is not finite in epoch {epoch}')

    def write(self, epoch: int, **extra: Any) -> Stats:
        """Ends an epoch."""
        # All processes have seen all rows, but must not differ by a rounding.
        stats = first_only(lambda: self._stats(epoch, **extra))
        self.rows.append(stats)
        if is_first():
            write_atomically(self.path, ''.join(json.dumps(row) + '\n' for row in self.rows))
            logging.info('%s: %s', self.name, stats)
        return stats

    def _stats(self, epoch: int, **extra: Any) -> Stats:
        self.stop()
        assert self.seconds is not None
        return {
            'epoch': epoch,
            'params': cfg.params,
            'time_iter': round(self.seconds / len(self._losses), 6),
            'time_epoch': round(self.seconds, 4),
            **extra,
            **self.compute(),
        }
