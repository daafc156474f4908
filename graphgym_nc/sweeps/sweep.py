"""The command line of a batch: a grid, all its jobs, and their tables."""

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from torch_geometric.graphgym.config import cfg

from graphgym_nc.results.manifest import read_manifest
from graphgym_nc.results.record import run_status
from graphgym_nc.sweeps.configs import base_configs, generate, load_base, task_name
from graphgym_nc.sweeps.errors import GridError
from graphgym_nc.sweeps.grid import Grid, Variant
from graphgym_nc.sweeps.jobs import Job
from graphgym_nc.sweeps.manifest import add_to_manifest
from graphgym_nc.sweeps.outcome import finish, show_states
from graphgym_nc.sweeps.pool import Stopped, run_jobs
from graphgym_nc.sweeps.slurm.settings import SlurmSettings
from graphgym_nc.sweeps.slurm.submit import job_shape, run_on_slurm, show_plan, states
from graphgym_nc.sweeps.slurm.tasks import import_submitit, slurm_folder
from graphgym_nc.utils.cores import available_cpus, environments, threads_per_worker, visible_gpus


def run_sweep(args: argparse.Namespace, script: Path) -> int:
    """Runs a sweep.

    Args:
        args: The arguments, as :meth:`graphgym_nc.cli.sweep.parse_args` gives them.
        script: What runs one job.

    Returns:
        0 if all jobs are DONE, 1 if any failed, 128 and the signal if there was one.

    Raises:
        GridError: If the grid, or one of its configurations, is wrong.
    """
    grid = Grid.load(args.grid)
    bases = base_configs(grid, args.config)
    folder = folder_of(grid, bases, args.opts)
    if args.status:
        return show_status(folder)
    variants = generate(grid, bases, args.opts, args.sample, args.compare)
    seed = variants[0].config.get('seed', cfg.seed)
    seeds = range(seed, seed + args.repeat)
    launch = on_slurm if args.launcher == 'slurm' else on_this_machine
    return launch(args, folder, variants, seeds, script)


def folder_of(grid: Grid, bases: Sequence[Path], opts: Sequence[str]) -> Path:
    """The folder of all results of a grid."""
    given = dict(zip(opts[::2], opts[1::2], strict=False))
    out_dir = given.get('out_dir', load_base(bases[0]).get('out_dir', cfg.out_dir))
    return Path(out_dir) / task_name(bases, grid)


def show_status(folder: Path) -> int:
    """Prints how a batch stands."""
    runs = read_manifest(folder)
    if not runs:
        raise GridError(f"no batch has been started in '{folder}'")
    names = [f'{name}/{seed}' for name, entry in runs.items() for seed in entry.seeds]
    show_states(states(folder, names), folder)
    return 0


def on_this_machine(
    args: argparse.Namespace,
    folder: Path,
    variants: Sequence[Variant],
    seeds: Sequence[int],
    script: Path,
) -> int:
    """Runs all jobs here."""
    workers = make_workers(args.jobs, folder, variants, seeds)
    jobs = make_jobs(folder, variants, seeds, int(workers[0]['OMP_NUM_THREADS']))
    if args.dry_run:
        for job in jobs:
            print(f'{run_status(job.run_dir):<8} {job.name}')
    summary = _summary(jobs, variants, seeds)
    print(f"{summary}, {len(workers)} at a time, in '{folder}'", flush=True)
    if args.dry_run:
        return 0
    add_to_manifest(folder, variants, seeds)
    return run(jobs, variants, folder, script, workers, args.retry or 0)


def on_slurm(
    args: argparse.Namespace,
    folder: Path,
    variants: Sequence[Variant],
    seeds: Sequence[int],
    script: Path,
) -> int:
    """Submits all jobs to SLURM."""
    settings = SlurmSettings.load(args.site, args.slurm)
    jobs = make_jobs(folder, variants, seeds, settings.cpus)
    shape = job_shape(variants)
    if args.dry_run:
        show_plan(jobs, folder, settings, shape)
    print(f"{_summary(jobs, variants, seeds)}, in '{folder}'", flush=True)
    if args.dry_run:
        return 0
    slurm_folder(folder)  # before anything is written
    import_submitit()
    add_to_manifest(folder, variants, seeds)
    if args.prepare:
        prepare(variants, [job for job in jobs if not job.is_done], script, {})
    return run_on_slurm(jobs, script, folder, settings, shape, args.wait)


def _summary(jobs: Sequence[Job], variants: Sequence[Variant], seeds: Sequence[int]) -> str:
    done = sum(job.is_done for job in jobs)
    return (
        f'{len(variants)} configuration(s) x {len(seeds)} seed(s) = {len(jobs)} job(s), '
        f'{done} of them DONE'
    )


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
            [sys.executable, script, *job.args[:2], '--prepare', *job.args[2:]],
            env={**os.environ, **env},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if result.returncode:
            # Its jobs will fail for the same reason; others need not.
            print(f'It failed: {result.stderr.rstrip()[-500:]}', file=sys.stderr)
