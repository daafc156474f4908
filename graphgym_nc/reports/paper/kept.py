"""Figures of runs in a small file that outlives their folders: a row for each fold or seed."""

import csv
import io
import typing
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

from graphgym_nc.utils.files import write_atomically

#: The kinds of rows: one fold or seed, or what is left of several whose figures are lost.
RUN, SUMMARY = 'run', 'summary'


@dataclass(frozen=True)
class Row:
    """One fold or seed. All epochs count from 1.

    Attributes:
        kind: :obj:`"run"`, or :obj:`"summary"` for a mean of several.
        config: The packaged configuration.
        changes: The keys that differ from it, with their values, as on a command line.
        run: The number of the fold or seed.
        runs: How many of them this is: more than 1 in a summary.
        metric: What :obj:`val` and :obj:`test` are.
        epoch: The best epoch on validation of this run alone.
        val: The metric on validation at that epoch.
        test: The metric on test at that epoch.
        shared_epoch: The epoch at which the mean over all folds or seeds is best on
            validation. This is GIN's rule for folds.
        shared_val: The metric on validation at that epoch.
        shared_test: The metric on test at that epoch.
        std: The deviation over :obj:`runs`, of a summary.
        epochs: The epochs that were run.
        planned: The epochs that were asked for.
        graphs: The number of graphs.
        source: Where the graphs came from.
        parameters: The number of parameters.
        seconds: The median time of an epoch of training, without evaluation.
        memory_mb: The peak of memory.
        mmacs: Million multiply-accumulate operations for a graph.
        inference_ms: Milliseconds of inference for a graph.
        commit: The commit of the source.
        date: The day on which the run ended.
        machine: The kind of machine.
        note: What else to know.
    """

    kind: str
    config: str
    changes: str
    run: int | None
    runs: int
    metric: str
    epoch: int | None
    val: float | None
    test: float | None
    shared_epoch: int | None
    shared_val: float | None
    shared_test: float | None
    std: float | None
    epochs: int
    planned: int
    graphs: int | None
    source: str
    parameters: int
    seconds: float | None
    memory_mb: int | None
    mmacs: float | None
    inference_ms: float | None
    commit: str
    date: str
    machine: str
    note: str = ''

    @property
    def key(self) -> tuple[Any, ...]:
        """Of two rows with the same key, the newer one counts."""
        return self.config, self.changes, self.kind, -1 if self.run is None else self.run


@dataclass(frozen=True)
class Curve:
    """The mean learning curve of a configuration, at some of its epochs.

    Attributes:
        config: The packaged configuration.
        changes: The keys that differ from it.
        split: The split.
        runs: The number of folds or seeds.
        epochs: The epochs, separated by spaces.
        values: The metric at these epochs.
    """

    config: str
    changes: str
    split: str
    runs: int
    epochs: str
    values: str

    @property
    def key(self) -> tuple[Any, ...]:
        """Of two curves with the same key, the newer one counts."""
        return self.config, self.changes, self.split


Kept = TypeVar('Kept', Row, Curve)


def curves_path(path: Path) -> Path:
    """The file of the learning curves, beside that of the figures."""
    return path.with_name(f'{path.stem}_curves.csv')


def read_kept(path: Path, kind: type[Kept]) -> list[Kept]:
    """Reads rows; there are none if there is no file.

    Raises:
        ValueError: If a column is missing, or has no number where it should.
    """
    if not path.exists():
        return []
    types = {field.name: typing.get_args(field.type) or (field.type,) for field in fields(kind)}
    with open(path, newline='') as file:
        lines = list(csv.DictReader(file))
    try:
        return [
            kind(**{name: _parse(line[name], *types[name]) for name in types}) for line in lines
        ]
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"'{path}' cannot be read: {type(error).__name__}: {error}") from None


def write_kept(path: Path, rows: Sequence[Kept]) -> None:
    """Writes rows, in order of their keys."""
    text = io.StringIO()
    writer = csv.DictWriter(text, [f.name for f in fields(rows[0])], lineterminator='\n')
    writer.writeheader()
    writer.writerows(asdict(row) for row in sorted(rows, key=lambda row: row.key))
    write_atomically(path, text.getvalue())


def merge(before: Iterable[Kept], new: Iterable[Kept]) -> list[Kept]:
    """All rows. A new one takes the place of one with the same key, and no other is lost."""
    rows = {row.key: row for row in before}
    rows.update({row.key: row for row in new})
    return list(rows.values())


def _parse(text: str, kind: Any, *optional: Any) -> Any:
    return None if optional and not text else kind(text)
