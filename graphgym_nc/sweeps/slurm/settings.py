"""What a cluster is asked for, from a site's file and the command line.

Every value is checked, as all of them end up in a script that a shell runs.
"""

import math
import re
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import yaml

from graphgym_nc.sweeps.errors import GridError

_NAME = re.compile(r'[A-Za-z0-9][A-Za-z0-9_.,:+@/=-]*')
_CONSTRAINT = re.compile(r'[A-Za-z0-9\[(][A-Za-z0-9_.,:+*&|()\[\]=-]*')
_NODES = re.compile(r'[A-Za-z0-9][A-Za-z0-9_.,\[\]-]*')  # such as node[01-04],other
_MEMORY = re.compile(r'[0-9]+[KMGT]?B?')
_TIME = re.compile(r'(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?')

#: What may be in the path of a folder that SLURM writes to.
_PATH = re.compile(r'[\w/.,:+@=~ -]+')


@dataclass(frozen=True)
class SlurmSettings:
    """What to ask a cluster for.

    Attributes:
        partition: The partition, as all names that follow; :obj:`None` leaves it
            to the cluster.
        account: The account.
        qos: The quality of service.
        constraint: The features that a node must have.
        reservation: The reservation.
        exclude: The nodes not to use.
        nodelist: The nodes to use.
        gres: Generic resources.
        mem: The memory of a node, such as :obj:`16G`.
        time: The minutes that a task may take at a time.
        gpus: The number of GPUs of a node.
        cpus: The number of cores of each device.
        array_parallelism: How many tasks of an array may run at the same time.
        array_size: How many tasks go into one array; SLURM's own limit
            (MaxArraySize) is 1001 by default.
        signal_seconds: How long before the end of its time a task is told.
        timeouts: How often a task that runs out of time is queued again.
        report_partition: The partition of the job that aggregates, which needs
            no GPU; by default the same.
        modules: Environment modules to load.
    """

    partition: str | None = None
    account: str | None = None
    qos: str | None = None
    constraint: str | None = None
    reservation: str | None = None
    exclude: str | None = None
    nodelist: str | None = None
    gres: str | None = None
    mem: str | None = None
    time: int = 60
    gpus: int = 0
    cpus: int = 1
    array_parallelism: int = 256
    array_size: int = 1000
    signal_seconds: int = 90
    timeouts: int = 100
    report_partition: str | None = None
    modules: tuple[str, ...] = ()

    @staticmethod
    def load(site: Path | None, given: dict[str, Any]) -> 'SlurmSettings':
        """The settings of a site, and those of the command line over them.

        Args:
            site: A YAML file of settings.
            given: Settings by name; :obj:`None` is for none.

        Raises:
            GridError: Naming the setting, and what is wrong with it.
        """
        settings = _read_site(site) if site is not None else {}
        settings |= {key: value for key, value in given.items() if value is not None}
        return SlurmSettings(**{key: _checked(key, value) for key, value in settings.items()})

    @property
    def common(self) -> dict[str, Any]:
        """What tasks and report have in common, as submitit names it."""
        names = ('partition', 'account', 'qos', 'constraint', 'exclude', 'nodelist')
        parameters = {name: getattr(self, name) for name in names}
        parameters = {key: value for key, value in parameters.items() if value is not None}
        additional: dict[str, Any] = {'requeue': True}
        if self.reservation is not None:
            additional['reservation'] = self.reservation
        parameters['additional_parameters'] = additional
        if self.modules:
            parameters['setup'] = [f'module load {name}' for name in self.modules]
        return parameters

    def tasks(self, devices: int, num_nodes: int) -> dict[str, Any]:
        """The parameters of a job array, as submitit names them.

        Raises:
            GridError: If GPUs and devices differ.
        """
        if self.gpus not in (0, devices):
            raise GridError(
                f"'gpus' is {self.gpus}, but the configurations have 'devices: {devices}'"
            )
        parameters = {
            **self.common,
            'time': self.time,
            'nodes': num_nodes,
            'ntasks_per_node': devices,
            'cpus_per_task': self.cpus,
            'array_parallelism': self.array_parallelism,
            'signal_delay_s': min(self.signal_seconds, self.time * 15),  # a quarter of it
            # The first task to fail ends those that would wait for it.
            'srun_args': ['--kill-on-bad-exit=1', f'--cpus-per-task={self.cpus}'],
        }
        if self.gpus:
            parameters['gpus_per_node'] = self.gpus
        return parameters | {k: getattr(self, k) for k in ('mem', 'gres') if getattr(self, k)}

    @property
    def report(self) -> dict[str, Any]:
        """The parameters of the job that aggregates."""
        own = {'time': min(self.time, 60), 'nodes': 1, 'ntasks_per_node': 1, 'cpus_per_task': 1}
        if self.report_partition is None:
            return {**self.common, **own}
        # Other nodes, which need not have what the tasks ask of theirs.
        elsewhere = replace(
            self, partition=self.report_partition, constraint=None, exclude=None, nodelist=None
        )
        return {**elsewhere.common, **own}


def check_path(path: Path) -> Path:
    """A folder whose name is nothing but a name to SLURM and to a shell.

    Raises:
        GridError: If it is not.
    """
    if not _PATH.fullmatch(str(path)):
        raise GridError(
            f"'{path}': the path of results of SLURM jobs may hold letters, digits, blanks and "
            f"any of /.,:+@=~_- only; choose another 'out_dir', or rename grid or configuration"
        )
    return path


def minutes(text: str | int) -> int:
    """A time in minutes, from SLURM's notation: :obj:`minutes`,
    :obj:`hours:minutes:seconds`, :obj:`days-hours` and so on.
    """
    match = _TIME.fullmatch(str(text))
    if match is None:
        raise ValueError(text)
    days, *parts = match.groups()
    numbers = [int(part) for part in parts if part is not None]
    if days is not None:  # days-hours[:minutes[:seconds]]
        hours, mins, seconds = [*numbers, 0, 0][:3]
    elif len(numbers) == 3:
        hours, mins, seconds = numbers
    else:  # minutes[:seconds]
        hours, (mins, seconds) = 0, [*numbers, 0][:2]
    return math.ceil(int(days or 0) * 1440 + hours * 60 + mins + seconds / 60)


def _read_site(path: Path) -> dict[str, Any]:
    try:
        # As texts: YAML would take 12:00:00 for a number to the base of 60.
        settings = yaml.load(path.read_text(), Loader=yaml.BaseLoader) or {}
    except FileNotFoundError:
        raise GridError(f"there is no site file '{path}'") from None
    except yaml.YAMLError as error:
        raise GridError(f"'{path}' is not valid YAML: {error}") from error
    known = {field.name for field in fields(SlurmSettings)}
    if not isinstance(settings, dict) or not settings.keys() <= known:
        unknown = sorted(map(str, settings.keys() - known)) if isinstance(settings, dict) else []
        names = ', '.join(sorted(known))
        raise GridError(f"'{path}': unknown setting(s) {unknown}; there are {names}")
    return settings


def _checked(key: str, value: Any) -> Any:
    try:
        if key == 'time':
            value = minutes(value)
        if key in ('time', 'cpus', 'array_parallelism', 'array_size'):
            return _at_least(1, value)
        if key in ('gpus', 'signal_seconds', 'timeouts'):
            return _at_least(0, value)
        if key == 'modules':
            return tuple(_matching(_NAME, name) for name in _list(value))
        patterns = {
            'constraint': _CONSTRAINT, 'exclude': _NODES, 'mem': _MEMORY, 'nodelist': _NODES
        }  # fmt: skip
        return _matching(patterns.get(key, _NAME), value)
    except ValueError:
        raise GridError(
            f"the SLURM setting '{key}' is {value!r}, which is none: numbers, times such as "
            f"'2-12:00:00', and names without blanks or characters that a shell would act on"
        ) from None


def _at_least(least: int, value: Any) -> int:
    if isinstance(value, bool) or int(value) != float(value) or int(value) < least:
        raise ValueError(value)
    return int(value)


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(value)
    return value


def _matching(pattern: re.Pattern[str], value: Any) -> str:
    if isinstance(value, bool) or not pattern.fullmatch(str(value)):
        raise ValueError(value)
    return str(value)
