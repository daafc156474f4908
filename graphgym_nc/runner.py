"""GraphGym's command line."""

import argparse
import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import torch
import yaml
from pytorch_lightning import seed_everything
from torch_geometric.graphgym.config import cfg, dump_cfg, get_fname, load_cfg, set_cfg
from torch_geometric.graphgym.logger import infer_task
from torch_geometric.graphgym.utils.comp_budget import params_count

from graphgym_nc.agg import agg_runs, less_is_better
from graphgym_nc.check import check
from graphgym_nc.config import ConfigError, check_cfg
from graphgym_nc.loader import DataModule
from graphgym_nc.logger import logging_to
from graphgym_nc.train import create_model, train


def main(argv: Sequence[str] | None = None) -> None:
    """Runs a configuration, for one seed or several."""
    args = parse_args(argv)
    try:
        load_config(args)
        if args.check:
            run_check()
        else:
            run(args)
    except (ConfigError, FileNotFoundError, FileExistsError) as error:
        sys.exit(f'{Path(sys.argv[0]).name}: {error}')


def parse_args(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Parses GraphGym's arguments, and :obj:`--check` and
    :obj:`--overwrite`.
    """
    parser = argparse.ArgumentParser(description='Train a GNN as a configuration file says.')
    parser.add_argument('--cfg', dest='cfg_file', required=True, help='the configuration file')
    parser.add_argument(
        '--repeat', type=int, default=1, help='the number of runs, with one seed after the other'
    )
    parser.add_argument(
        '--mark_done', action='store_true', help='rename FILE.yaml to FILE.yaml_done at the end'
    )
    parser.add_argument(
        '--check',
        action='store_true',
        help='load the data, build the model, run one batch, report, and write no results',
    )
    parser.add_argument(
        '--overwrite', action='store_true', help='replace the results of the same seed'
    )
    parser.add_argument(
        'opts', nargs=argparse.REMAINDER, help='KEY VALUE pairs, such as optim.max_epoch 10'
    )
    args = parser.parse_args(argv)
    if args.repeat < 1:
        parser.error(f'--repeat is {args.repeat}, but must be at least 1')
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
        load_cfg(cfg, args)
    except yaml.YAMLError as error:
        raise ConfigError(f"'{args.cfg_file}' is not valid YAML: {error}") from error
    except (KeyError, ValueError, AssertionError) as error:
        reason = error.args[0] if error.args else error
        raise ConfigError(f"'{args.cfg_file}': {reason}") from error
    check_cfg(cfg)
    torch.set_num_threads(min(cfg.num_threads, os.cpu_count() or 1))


def run(args: argparse.Namespace) -> None:
    """Trains with every seed, and aggregates."""
    out_dir = Path(cfg.out_dir) / get_fname(args.cfg_file)
    seeds = range(cfg.seed, cfg.seed + args.repeat)
    for seed in seeds:
        refuse_to_overwrite(out_dir / str(seed), args.overwrite)
    cfg.out_dir = str(out_dir)
    dump_cfg(cfg)

    for seed in seeds:
        cfg.seed = seed
        cfg.run_dir = str(out_dir / str(seed))
        with logging_to(Path(cfg.run_dir)):
            source = run_seed()

    metric = best_metric()
    minimise = less_is_better(metric, cfg.metric_agg)
    best = agg_runs(out_dir, metric, minimise, source)
    print(f"At the best epoch by validation {metric}, {len(seeds)} seed(s), in '{out_dir}':")
    for split, stats in best.items():
        print(f'  {split:<5} {metric} {stats[metric]:.4f} +- {stats[f"{metric}_std"]:.4f}')
    if args.mark_done:
        os.rename(args.cfg_file, f'{args.cfg_file}_done')


def run_seed() -> str:
    """Trains with one seed.

    Returns:
        Where the data came from.
    """
    seed_everything(cfg.seed, verbose=False)
    datamodule = DataModule()
    model = create_model()
    cfg.params = params_count(model)
    logging.info(model)
    logging.info('Number of parameters: %d', cfg.params)
    train(model, datamodule)
    return datamodule.source


def run_check() -> None:
    """Prints what :meth:`~graphgym_nc.check.check` finds."""
    logging.basicConfig(format='%(message)s', level=logging.INFO)
    seed_everything(cfg.seed, verbose=False)
    datamodule = DataModule()
    report = check(create_model(), datamodule)
    width = max(map(len, report))
    for name, value in report.items():
        print(f'{name:<{width}}  {value}')


def best_metric() -> str:
    """The metric that chooses the reported epoch."""
    if cfg.metric_best != 'auto':
        return cfg.metric_best
    if cfg.custom_metrics:
        return cfg.custom_metrics[0]
    defaults = {'regression': 'mae', 'classification_binary': 'auc'}
    return defaults.get(infer_task(), 'accuracy')


def refuse_to_overwrite(run_dir: Path, overwrite: bool) -> None:
    """Makes room for a run.

    Raises:
        FileExistsError: If there are results, and no leave to replace them.
    """
    stats = [*run_dir.glob('*/stats.json')]
    if stats and not overwrite:
        raise FileExistsError(
            f"there are results in '{run_dir}'; choose another 'seed' or 'out_dir', or replace "
            f'them with --overwrite'
        )
    for path in stats:
        path.unlink()
