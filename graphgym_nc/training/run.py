"""GraphGym's command line."""

import argparse
import json
import logging
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import torch
import yaml
from pytorch_lightning import seed_everything
from pytorch_lightning.utilities.exceptions import SIGTERMException
from torch_geometric.graphgym import register
from torch_geometric.graphgym.config import assert_cfg, cfg, get_fname, set_cfg
from torch_geometric.graphgym.utils.comp_budget import params_count

from graphgym_nc.datasets.fingerprint import data_fingerprint
from graphgym_nc.datasets.splits import Folds
from graphgym_nc.graphgym.config import merge, parse_opts, set_value
from graphgym_nc.graphgym.validation import ConfigError, best_metric, check_cfg
from graphgym_nc.results.aggregate import AggError, aggregate, write_aggregate
from graphgym_nc.results.lock import alone_in
from graphgym_nc.results.record import RunRecord
from graphgym_nc.training.data import DataModule
from graphgym_nc.training.dry_run import check
from graphgym_nc.training.evaluate import evaluate
from graphgym_nc.training.folders import chosen, make_room, refuse_other_data, resolved
from graphgym_nc.training.processes import available_threads, process_number, together
from graphgym_nc.training.statistics import RunError, logging_to
from graphgym_nc.training.train import create_model
from graphgym_nc.utils.distributed import first_only, is_first
from graphgym_nc.utils.files import is_full, save_atomically
from graphgym_nc.utils.memory import keep_freed_memory
from graphgym_nc.utils.packaged import ROOT, ListPackaged, packaged_config
from graphgym_nc.utils.split_names import SPLITS


def main(argv: Sequence[str] | None = None) -> None:
    """Runs a configuration, for one seed or several."""
    args = parse_args(argv)
    try:
        load_config(args)
        prepare_machine(1 if args.check or args.eval else cfg.devices)
        if args.check:
            run_check()
        elif args.prepare:
            run_prepare()
        elif args.eval is not None:
            run_eval(args)
        else:
            with together():
                run(args)
    except (AggError, ConfigError, RunError, OSError) as error:
        advice = '; make room, then go on with train.auto_resume True' if is_full(error) else ''
        sys.exit(f'{Path(sys.argv[0]).name}: {error}{advice}' if process_number() == 0 else 1)
    except SIGTERMException:
        sys.exit(128 + signal.SIGTERM)


def parse_args(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Parses GraphGym's arguments, and those that it lacks."""
    parser = argparse.ArgumentParser(
        prog='graphgym-nc train',
        description='Train a GNN as a configuration file says.',
        epilog='example: graphgym-nc train --cfg nc_counting --repeat 2 optim.max_epoch 10',
    )
    add = parser.add_argument
    add(
        '--cfg',
        dest='cfg_file',
        type=packaged_config,
        required=True,
        help='the configuration: a file, or the name of a packaged one',
    )
    add('--list', action=ListPackaged, const='configs')
    add('--repeat', type=int, default=1, help='the number of runs, one seed after the other')
    add('--mark_done', action='store_true', help='rename FILE.yaml to FILE.yaml_done at the end')
    add('--overwrite', action='store_true', help='replace the results of the same seed')
    add('--check', action='store_true', help='run one batch, report, and write no results')
    add('--prepare', action='store_true', help='load or draw the data, and do no more')
    add('--eval', metavar='CKPT', type=Path, help='evaluate a saved model, without training')
    add('--split', choices=SPLITS, default='test', help='with --eval: the split (default: test)')
    add('--out', type=Path, help='with --eval: write predictions and labels to this file (.pt)')
    add('opts', nargs='*', help='KEY VALUE pairs, such as optim.max_epoch 10')
    args = parser.parse_intermixed_args(argv)
    if args.repeat < 1:
        parser.error(f'--repeat is {args.repeat}, but must be at least 1')
    if args.mark_done and args.cfg_file.is_relative_to(ROOT):
        parser.error(f"--mark_done would rename a file of the package, '{args.cfg_file}'")
    return args


def load_config(args: argparse.Namespace) -> None:
    """Fills GraphGym's :obj:`cfg` from file and command line, and checks it.

    Raises:
        ConfigError: If there is anything wrong with it.
    """
    if not os.path.isfile(args.cfg_file):
        raise FileNotFoundError(f"there is no configuration file '{args.cfg_file}'")
    set_cfg(cfg)
    try:
        with open(args.cfg_file) as file:
            tree = yaml.safe_load(file) or {}
        if not isinstance(tree, dict):
            raise ConfigError('it holds no keys')
        merge(cfg, tree)
    except yaml.YAMLError as error:
        raise ConfigError(f"'{args.cfg_file}' is not valid YAML: {error}") from error
    except ValueError as error:
        raise ConfigError(f"'{args.cfg_file}': {error}") from error
    try:
        for key, value in parse_opts(args.opts, cfg).items():
            set_value(cfg, key, value)
    except ValueError as error:
        raise ConfigError(f'on the command line: {error}') from error
    try:
        assert_cfg(cfg)
    except ValueError as error:
        raise ConfigError(str(error)) from error
    check_cfg(cfg)


def prepare_machine(processes: int = 1) -> None:
    """Sets what holds for the whole process: its threads, and that it keeps freed memory.

    Args:
        processes: How many processes share the cores that this one may use.
    """
    keep_freed_memory()
    torch.set_num_threads(min(cfg.num_threads, available_threads(processes)))


def run(args: argparse.Namespace) -> None:
    """Trains with every seed, and aggregates."""
    out_dir = Path(cfg.out_dir) / get_fname(args.cfg_file)
    seeds = range(cfg.seed, cfg.seed + args.repeat)
    config = resolved()  # before a run adds to it what it finds in the data
    for seed in seeds:
        cfg.seed = seed
        cfg.run_dir = str(out_dir / str(seed))
        with ExitStack() as stack:
            first_only(lambda: stack.enter_context(alone_in(Path(cfg.run_dir))))
            left = range(seed, seeds.stop)
            if first_only(lambda: make_room(out_dir, left, config, args.overwrite)):  # noqa: B023
                stack.enter_context(logging_to(Path(cfg.run_dir)))
                run_seed(chosen(config))
    if is_first():
        report(out_dir)
        if args.mark_done:
            os.rename(args.cfg_file, f'{args.cfg_file}_done')


def report(out_dir: Path) -> None:
    """Aggregates all seeds, and prints the result."""
    result = aggregate(out_dir)
    write_aggregate(out_dir, result)
    best = result.reported
    metric, number = best['val']['metric'], best['val']['seeds']
    unit = 'seed' if Folds.of(cfg.dataset.split_mode) is None else 'fold'
    own = best is result.best
    kind = 'epoch by validation' if own else f'epoch by the mean of all {unit}s'
    print(f"At the best {kind}, {metric}, {number} {unit}(s), in '{out_dir}':")
    for split, stats in best.items():
        print(f'  {split:<5} {metric} {stats[metric]:.4f} +- {stats[f"{metric}_std"]:.4f}')


def run_seed(config: dict[str, Any]) -> None:
    """Trains with one seed, and keeps the record of it.

    Args:
        config: What the record says of the configuration.
    """
    record = RunRecord(Path(cfg.run_dir))
    record.start(seed=cfg.seed, config=config)
    try:
        seed_everything(cfg.seed, verbose=False)
        datamodule = DataModule()
        metric, minimise = best_metric(cfg)
        fingerprint = first_only(lambda: data_fingerprint(datamodule.graphs))
        first_only(lambda: refuse_other_data(Path(cfg.run_dir), fingerprint))
        record.note(
            data_source=datamodule.source,
            data_fingerprint=fingerprint,
            graphs=len(datamodule.dataset),
            metric=metric,
            minimise=minimise,
        )
        model = create_model()
        cfg.params = params_count(model)
        logging.info(model, extra={'file_only': True})
        logging.info('Number of parameters: %d', cfg.params)
        register.train_dict[cfg.train.mode](model, datamodule)
    except (KeyboardInterrupt, SystemExit):  # Lightning makes the one of the other
        logging.warning('INTERRUPTED: go on with train.auto_resume True')
        raise
    except Exception as error:
        known = isinstance(error, (ConfigError, RunError))  # its text says all
        logging.error('FAILED: %s', error, exc_info=not known)
        with suppress(OSError):  # if the disk is full, not even this may fit
            record.failed(f'{type(error).__name__}: {error}')
        raise
    record.done()


def run_eval(args: argparse.Namespace) -> None:
    """Prints the metrics of a saved model, and writes its predictions."""
    seed_everything(cfg.seed, verbose=False)
    metrics, pred, true = evaluate(args.eval, args.split)
    print(json.dumps({'split': args.split, **metrics}))
    if args.out is not None:
        save_atomically(args.out, {'pred': pred, 'true': true, 'metrics': metrics})
        print(f"Predictions and labels: '{args.out}'")


def run_prepare() -> None:
    """Puts the data on disk, for jobs that begin at the same time."""
    logging.basicConfig(format='%(message)s', level=logging.INFO)
    datamodule = DataModule()
    print(f"{len(datamodule.dataset)} graphs in '{cfg.dataset.dir}': {datamodule.source}")


def run_check() -> None:
    """Prints what :meth:`~graphgym_nc.training.dry_run.check` finds."""
    logging.basicConfig(format='%(message)s', level=logging.INFO)
    seed_everything(cfg.seed, verbose=False)
    datamodule = DataModule(first=cfg.train.batch_size)
    report = check(create_model(), datamodule)
    width = max(map(len, report))
    for name, value in report.items():
        print(f'{name:<{width}}  {value}')
