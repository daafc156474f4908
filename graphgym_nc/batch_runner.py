"""The command line of a batch: a grid, all its jobs, and their tables."""

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from torch_geometric.graphgym.config import cfg

from graphgym_nc.agg import AggError
from graphgym_nc.agg_batch import agg_batch
from graphgym_nc.batch import Job, Outcome, Stopped, run_jobs, tail
from graphgym_nc.configs_gen import base_configs, generate, task_name
from graphgym_nc.grid import Grid, Variant
from graphgym_nc.grid_file import GridError
from graphgym_nc.manifest import add_to_manifest
from graphgym_nc.record import run_status
from graphgym_nc.workers import available_cpus, environments, threads_per_worker, visible_gpus


def main(argv: Sequence[str] | None = None, script: Path | None = None) -> int:
    """Runs a batch.

    Args:
        argv: The arguments.
        script: What runs one job; :obj:`run/main.py` by default.

    Returns:
        0 if all jobs are DONE, 1 if any failed, 2 if something else is wrong,
        such as the grid or the disk, 128 and the signal if there was one.
    """
    args = parse_args(argv)
    script = script or Path(__file__).parents[1] / 'run' / 'main.py'
    try:
        grid = Grid.load(args.grid)
        bases = base_configs(grid, args.config)
        variants = generate(grid, bases, args.opts, args.sample, args.compare)
        folder = Path(variants[0].config.get('out_dir', cfg.out_dir)) / task_name(bases, grid)
        seed = variants[0].config.get('seed', cfg.seed)
        seeds = range(seed, seed + args.repeat)
        workers = make_workers(args.jobs, folder, variants, seeds)
        threads = int(workers[0]['OMP_NUM_THREADS'])
        jobs = make_jobs(folder, variants, seeds, threads)
        if args.dry_run:
            print('\n'.join(f'{run_status(job.run_dir):<8} {job.name}' for job in jobs))
        done = sum(job.is_done for job in jobs)
        print(
            f'{len(variants)} configuration(s) x {len(seeds)} seed(s) = {len(jobs)} job(s), '
            f"{done} of them DONE, {len(workers)} at a time, in '{folder}'",
            flush=True,
        )
        if args.dry_run:
            return 0
        add_to_manifest(folder, variants, seeds)
        return run(jobs, variants, folder, script, workers, args.retry)
    except (GridError, OSError) as error:
        print(f'run_batch: {error}', file=sys.stderr)
        return 2


def parse_args(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Parses the arguments."""
    parser = argparse.ArgumentParser(
        prog='run_batch', description='Run a grid of configurations, each with several seeds.'
    )
    parser.add_argument('grid', type=Path, help='the grid')
    parser.add_argument(
        '--config',
        type=Path,
        help="the base configuration (default: the grid's '# config:' lines)",
    )
    parser.add_argument('--repeat', type=_positive, default=1, help='the number of seeds')
    parser.add_argument(
        '--jobs', type=_positive, help='how many at a time (default: one per GPU; one on the CPU)'
    )
    parser.add_argument(
        '--sample', type=_positive, help='draw that many configurations (always the same)'
    )
    parser.add_argument(
        '--compare',
        type=lambda text: text.split(','),
        default=[],
        metavar='ALIAS,...',
        help='with --sample: for each of these, that many settings with all of its choices',
    )
    parser.add_argument('--retry', type=int, default=0, help='how often to retry a failed job')
    parser.add_argument('--dry-run', action='store_true', help='list the jobs, and run none')
    args, opts = parser.parse_known_args(argv)
    for option in opts:
        if option.startswith('--'):
            parser.error(f"there is no option '{option}'")
    if args.compare and not args.sample:
        parser.error('--compare needs --sample')
    args.opts = opts
    return args


def make_workers(
    jobs: int | None, folder: Path, variants: Sequence[Variant], seeds: Sequence[int]
) -> list[dict[str, str]]:
    """The environment of each worker, of no more than there is to do."""
    runs = [folder / variant.name / str(seed) for variant in variants for seed in seeds]
    todo = sum(run_status(run) != 'DONE' for run in runs)
    gpus = visible_gpus()
    number = max(1, min(jobs or len(gpus) or 1, todo))
    return environments(number, threads_per_worker(number, available_cpus()), gpus)


def make_jobs(
    folder: Path, variants: Sequence[Variant], seeds: Sequence[int], threads: int
) -> list[Job]:
    """All jobs: every configuration with the first seed, then with the next."""
    return [
        Job(
            name=f'{variant.name}/{seed}',
            run_dir=folder / variant.name / str(seed),
            args=(
                '--cfg', str(folder / 'configs' / f'{variant.name}.yaml'),
                'out_dir', str(folder),
                'seed', str(seed),
                'num_threads', str(min(threads, variant.config.get('num_threads', threads))),
                'train.auto_resume', 'True',
            ),
        )
        for seed in seeds
        for variant in variants
    ]  # fmt: skip


def run(
    jobs: Sequence[Job],
    variants: Sequence[Variant],
    folder: Path,
    script: Path,
    workers: Sequence[dict[str, str]],
    retry: int,
) -> int:
    """Runs jobs, aggregates, and says what went wrong."""
    try:
        if len(workers) > 1:
            prepare(variants, [job for job in jobs if not job.is_done], script, workers[0])
        outcome = run_jobs(jobs, script, workers, retry)
    except (KeyboardInterrupt, Stopped) as stop:
        print(
            f'\nrun_batch: stopped ({stop}); what was running is terminated. Started again, the '
            f'batch runs what is not DONE.',
            file=sys.stderr,
        )
        return stop.exit_code if isinstance(stop, Stopped) else 130
    return finish(outcome, folder)


def prepare(
    variants: Sequence[Variant], todo: Sequence[Job], script: Path, env: dict[str, str]
) -> None:
    """Prepares every data set once, before several jobs ask for it at the same
    time.
    """
    seen = []
    names = {job.run_dir.parent.name: job for job in reversed(todo)}
    for variant in variants:
        nc = variant.config.get('nc', {})
        data = [
            variant.config.get('dataset'),
            {key: value for key, value in nc.items() if key.startswith(('sbm_', 'counting_'))},
        ]
        if variant.name not in names or data in seen:
            continue
        seen.append(data)
        print(f'Preparing the data of {variant.name} ...', flush=True)
        job = names[variant.name]
        result = subprocess.run(
            [sys.executable, script, *job.args[:2], '--check', *job.args[2:]],
            env={**os.environ, **env},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if result.returncode:
            # Its jobs will fail for the same reason; others need not.
            print(f'It failed: {result.stderr.rstrip()[-500:]}', file=sys.stderr)


def finish(outcome: Outcome, folder: Path) -> int:
    """Aggregates, and lists what failed."""
    try:
        incomplete = agg_batch(folder)
        print(f"Tables: '{folder / 'agg'}'. Report: python run/report.py '{folder}'")
    except AggError as error:
        incomplete = []
        print(f'run_batch: {error}', file=sys.stderr)
    failed = {job.name for job, _ in outcome.failed}
    for run in incomplete:
        if f'{run.run}/{run.seed}' not in failed:
            print(f'Not in the tables: {run}', file=sys.stderr)
    for job, code in outcome.failed:
        print(f"\nFAILED {job.name} (exit code {code}), '{job.log}':", file=sys.stderr)
        print(tail(job.log), file=sys.stderr)
    if outcome.failed:
        number = len(outcome.failed)
        print(f'\nrun_batch: {number} job(s) failed, {len(outcome.done)} DONE', file=sys.stderr)
    return 1 if outcome.failed else 0


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f'{value} is not at least 1')
    return value
