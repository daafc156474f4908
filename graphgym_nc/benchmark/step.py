"""A training step, and a whole epoch through the runner."""

import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytorch_lightning as pl
from pytorch_lightning.profilers import SimpleProfiler
from torch_geometric.graphgym.config import cfg
from torch_geometric.graphgym.utils.comp_budget import params_count

from graphgym_nc.training.data import DataModule
from graphgym_nc.training.run import load_config, parse_args, prepare_machine
from graphgym_nc.training.train import Module, create_model, train
from graphgym_nc.triangles.incidence import TriangleIncidence

#: What the time of an epoch is divided into.
PARTS = ('data loading', 'listing', 'model', 'logging', 'rest')


class _Attach(pl.Callback):
    """Has Lightning's own profiler look on."""

    def __init__(self, profiler: SimpleProfiler) -> None:
        self.profiler = profiler

    def on_fit_start(self, trainer: pl.Trainer, *_: Any) -> None:
        trainer.profiler = self.profiler  # type: ignore[attr-defined]


@contextmanager
def _timed_listing(times: list[float]) -> Iterator[None]:
    original = TriangleIncidence.build

    def build(*args: Any) -> TriangleIncidence:
        start = time.perf_counter()
        result = original(*args)
        times.append(time.perf_counter() - start)
        return result

    TriangleIncidence.build = build  # type: ignore[method-assign,assignment]
    try:
        yield
    finally:
        TriangleIncidence.build = original  # type: ignore[method-assign]


def prepare(config: Path, options: Sequence[str], folder: Path) -> tuple[Module, DataModule]:
    """What a run needs that writes into a folder."""
    load_config(parse_args(['--cfg', str(config), 'out_dir', str(folder), *options]))
    prepare_machine()
    cfg.run_dir = str(folder / '0')
    pl.seed_everything(cfg.seed, verbose=False)
    datamodule = DataModule()
    model = create_model()
    cfg.params = params_count(model)
    return model, datamodule


def measure_run(config: Path, options: Sequence[str]) -> dict[str, Any]:
    """Trains a configuration for some epochs as :obj:`run/main.py` would, and
    divides the time of its training, evaluation apart.
    """
    with TemporaryDirectory() as folder:
        model, datamodule = prepare(config, options, Path(folder))
        profiler = SimpleProfiler()
        listing: list[float] = []
        with _timed_listing(listing):
            train(model, datamodule, extra_callbacks=[_Attach(profiler)])
    durations: dict[str, float] = defaultdict(float)
    for action, times in profiler.recorded_durations.items():
        durations[action] += sum(times)
    steps = cfg.optim.max_epoch * len(datamodule.loaders[0])
    return _divide(durations, sum(listing[:steps]), config.stem, steps)


def _divide(
    durations: Mapping[str, float], listing: float, name: str, batches: int
) -> dict[str, Any]:
    def total(*marks: str) -> float:
        return sum(v for k, v in durations.items() if any(mark in k for mark in marks))

    evaluation = total('[_EvaluationLoop].val_next', 'validation_step', 'on_validation')
    parts = {
        'data loading': total('train_dataloader_next', 'batch_to_device'),
        'listing': listing,
        'model': total('run_training_batch') - listing,
        'logging': total('[Callback]'),
    }
    within = total('run_training_epoch') - evaluation
    parts['rest'] = max(0.0, within - sum(parts.values()))
    whole = sum(parts.values())
    return {
        'run': name,
        'ms per step': 1e3 * whole / batches,
        **{f'{part}': 100 * value / whole for part, value in parts.items()},
    }
