"""A sweep: a grid, all its jobs, and their tables."""

import argparse
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from torch_geometric.graphgym.config import cfg

from graphgym_nc.results.manifest import read_manifest
from graphgym_nc.results.record import run_status
from graphgym_nc.sweeps.configs import base_configs, generate, load_base, task_name
from graphgym_nc.sweeps.errors import GridError
from graphgym_nc.sweeps.grid import Grid
from graphgym_nc.sweeps.jobs import Job
from graphgym_nc.sweeps.manifest import add_to_manifest
from graphgym_nc.sweeps.outcome import finish, show_states
from graphgym_nc.sweeps.pool import Stopped, run_jobs
from graphgym_nc.sweeps.slurm.launch import job_shape, run_on_slurm, show_plan, states
from graphgym_nc.sweeps.slurm.settings import SlurmSettings
from graphgym_nc.sweeps.slurm.submit import import_submitit, slurm_folder
from graphgym_nc.sweeps.variants import Variant
from graphgym_nc.utils.cores import available_cpus, environments, threads_per_worker, visible_gpus


def run_sweep(args: argparse.Namespace, command: Sequence[str]) -> int:
    """Runs a sweep.

    Args:
        args: The arguments, as :meth:`graphgym_nc.cli.sweep.parse_args` gives them.
        command: The words of the command that trains, Python first.

    Returns:
        0 if all jobs are DONE, 1 if any failed, 128 and the signal if there was one.

    Raises:
        GridError: If the grid, or one of its configurations, is wrong.
    """
    grid = Grid.load(args.grid)
    bases = base_configs(grid, args.config)
    given = dict(zip(args.opts[::2], args.opts[1::2], strict=False))
    out_dir = given.get('out_dir', load_base(bases[0]).get('out_dir', cfg.out_dir))
    folder = Path(str(out_dir)) / task_name(bases, grid)
    if args.status:
        return show_status(folder)
    variants = generate(grid, bases, args.opts, args.sample, args.compare)
    seed = variants[0].config.get('seed', cfg.seed)
    sweep = Sweep(folder, variants, range(seed, seed + args.repeat), command)
    return on_slurm(sweep, args) if args.launcher == 'slurm' else on_this_machine(sweep, args)


@dataclass(frozen=True)
class Sweep:
    """All that is to be run.

    Attributes:
        folder: The folder of all results.
        variants: The configurations.
        seeds: The seeds of each.
        command: The words of the command that trains.
    """

    folder: Path
    variants: Sequence[Variant]
    seeds: Sequence[int]
    command: Sequence[str]

    def jobs(self, threads: int) -> list[Job]:
        """All jobs: every configuration with the first seed, then with the next.

        Args:
            threads: How many threads each may use.
        """
        return [
            Job(
                name=f'{variant.name}/{seed}',
                run_dir=self.folder / variant.name / str(seed),
                command=(
                    *self.command,
                    '--cfg', str(self.folder / 'configs' / f'{variant.name}.yaml'),
                    'out_dir', str(self.folder),
                    'seed', str(seed),
                    'num_threads', str(min(threads, variant.config.get('num_threads', threads))),
                    'train.auto_resume', 'True',
                ),
            )
            for seed in self.seeds
            for variant in self.variants
        ]  # fmt: skip

    def summary(self, jobs: Sequence[Job]) -> str:
        """How much there is to do."""
        return (
            f'{len(self.variants)} configuration(s) x {len(self.seeds)} seed(s) = {len(jobs)} '
            f"job(s), {sum(job.is_done for job in jobs)} of them DONE, in '{self.folder}'"
        )


def show_status(folder: Path) -> int:
    """Prints how a sweep stands."""
    runs = read_manifest(folder)
    if not runs:
        raise GridError(f"no sweep has been started in '{folder}'")
    names = [f'{name}/{seed}' for name, entry in runs.items() for seed in entry.seeds]
    show_states(states(folder, names), folder)
    return 0


def on_this_machine(sweep: Sweep, args: argparse.Namespace) -> int:
    """Runs all jobs here, a few at a time."""
    gpus, todo = visible_gpus(), sum(not job.is_done for job in sweep.jobs(threads=1))
    number = max(1, min(args.jobs or len(gpus) or 1, todo))
    threads = threads_per_worker(number, available_cpus())
    jobs = sweep.jobs(threads)
    if args.dry_run:
        for job in jobs:
            print(f'{run_status(job.run_dir):<8} {job.name}')
    print(f'{sweep.summary(jobs)}, {number} at a time', flush=True)
    if args.dry_run:
        return 0
    add_to_manifest(sweep.folder, sweep.variants, sweep.seeds)
    workers = environments(number, threads, gpus)
    try:
        if number > 1:
            prepare(sweep.variants, jobs, workers[0])
        failed = run_jobs(jobs, workers, args.retry or 0)
    except (KeyboardInterrupt, Stopped) as stop:
        print(
            f'\nsweep: stopped ({stop}); what was running is terminated. Started again, the '
            f'sweep runs what is not DONE.',
            file=sys.stderr,
        )
        return stop.exit_code if isinstance(stop, Stopped) else 130
    return finish(jobs, failed, sweep.folder)


def on_slurm(sweep: Sweep, args: argparse.Namespace) -> int:
    """Submits all jobs to SLURM."""
    settings = SlurmSettings.load(args.site, args.slurm)
    jobs, shape = sweep.jobs(settings.cpus), job_shape(sweep.variants)
    if args.dry_run:
        show_plan(jobs, sweep.folder, settings, shape)
    print(sweep.summary(jobs), flush=True)
    if args.dry_run:
        return 0
    slurm_folder(sweep.folder)  # before anything is written
    import_submitit()
    add_to_manifest(sweep.folder, sweep.variants, sweep.seeds)
    if args.prepare:
        prepare(sweep.variants, jobs, {})
    return run_on_slurm(jobs, sweep.folder, settings, shape, args.wait)


def prepare(
    variants: Sequence[Variant], jobs: Sequence[Job], environment: Mapping[str, str]
) -> None:
    """Prepares every data set once, before several jobs ask for it at the same
    time.
    """
    todo = {job.run_dir.parent.name: job for job in reversed(jobs) if not job.is_done}
    seen = []
    for variant in variants:
        nc = variant.config.get('nc', {})
        data = [
            variant.config.get('dataset'),
            {key: value for key, value in nc.items() if key.startswith(('sbm_', 'counting_'))},
        ]
        if variant.name not in todo or data in seen:
            continue
        seen.append(data)
        print(f'Preparing the data of {variant.name} ...', flush=True)
        result = subprocess.run(
            [*todo[variant.name].command, '--prepare'],
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if result.returncode:
            # Its jobs will fail for the same reason; others need not.
            print(f'It failed: {result.stderr.rstrip()[-500:]}', file=sys.stderr)
