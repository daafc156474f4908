"""Keeps the results of BREC's pairs, so that a run can be stopped and resumed."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple, TypeAlias

from graphgym_nc.utils.files import write_atomically
from graphgym_nc.wl.brec import CATEGORIES, Pair
from graphgym_nc.wl.brec_training import PairResult, Protocol, train_pair
from graphgym_nc.wl.networks import network_name

Key: TypeAlias = tuple[str, int]


class Score(NamedTuple):
    """How a category went.

    Attributes:
        tested: The number of its pairs that were tested.
        parted: The number of those told apart, and reliably so.
        unreliable: The number of those where even copies of one graph were
            told apart.
    """

    tested: int
    parted: int
    unreliable: int


class ResultLog:
    """A file of one JSON object per line: the settings first, then one line
    per finished pair.

    Args:
        path: The file, which is created if it does not exist.
        protocol: The settings of the run.
        brec: The pairs, see :meth:`~graphgym_nc.wl.brec.load_brec`.

    Raises:
        ValueError: If the file belongs to other settings or other data, or is
            no such file.
    """

    def __init__(self, path: str | Path, protocol: Protocol, brec: dict[str, list[Pair]]) -> None:
        self.path = Path(path)
        self.protocol = protocol
        self.results: dict[Key, PairResult] = {}
        run = {'protocol': asdict(protocol), 'data_sha256': _digest(brec)}
        if not self.path.exists():
            self._lines = [json.dumps({**run, 'versions': _versions()})]
            self._write()
            return
        header, self.results = _read(self.path)
        if {name: header.get(name) for name in run} != run:
            raise ValueError(
                f'{self.path} holds results of other settings or data; resume with the same '
                'ones, or choose another file'
            )
        self._lines = self.path.read_text().splitlines()

    def add(self, key: Key, result: PairResult, seconds: float) -> None:
        """Writes down a finished pair."""
        category, pair = key
        record = {'category': category, 'pair': pair, **result._asdict(), 'seconds': seconds}
        self._lines.append(json.dumps(record))
        self._write()
        self.results[key] = result

    def scores(self) -> dict[str, Score]:
        """The scores of the categories that pairs were tested of."""
        return _scores(self.protocol, self.results)

    def _write(self) -> None:
        write_atomically(self.path, ''.join(f'{line}\n' for line in self._lines))


def evaluate(
    brec: dict[str, list[Pair]],
    log: ResultLog,
    keys: Iterable[Key],
    train: Callable[[Pair, Protocol, tuple[int, ...]], PairResult] = train_pair,
) -> Iterator[Key]:
    """Trains on the given pairs that :obj:`log` has no result of yet.

    Yields:
        Every pair, once its result is in the log.
    """
    number = {category.file: i for i, category in enumerate(CATEGORIES)}
    for key in keys:
        if key not in log.results:
            category, pair = key
            start = perf_counter()
            result = train(brec[category][pair], log.protocol, (number[category], pair))
            log.add(key, result, round(perf_counter() - start, 3))
        yield key


def read_scores(path: str | Path) -> tuple[Protocol, dict[str, Score]]:
    """Reads the settings and the scores of a :class:`ResultLog`'s file."""
    header, results = _read(Path(path))
    protocol = Protocol(**header['protocol'])
    return protocol, _scores(protocol, results)


def _scores(protocol: Protocol, results: dict[Key, PairResult]) -> dict[str, Score]:
    limit, out = protocol.threshold, {}
    for category in CATEGORIES:
        of_category = [result for (file, _), result in results.items() if file == category.file]
        if of_category:
            reliable = [result for result in of_category if result.t_squared_copies <= limit]
            parted = sum(result.t_squared > limit for result in reliable)
            out[category.file] = Score(len(of_category), parted, len(of_category) - len(reliable))
    return out


def _read(path: Path) -> tuple[dict[str, Any], dict[Key, PairResult]]:
    """The settings and the results in a file."""
    try:
        header, *records = map(json.loads, path.read_text().splitlines())
        results = {
            (record['category'], record['pair']): PairResult(
                *(record[name] for name in PairResult._fields)
            )
            for record in records
        }
        protocol = header['protocol'] | {'model': network_name(header['protocol']['model'])}
        return header | {'protocol': protocol}, results
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f'{path} holds no results of BREC') from error


def _digest(brec: dict[str, list[Pair]]) -> str:
    text = '\n'.join(graph for pairs in brec.values() for pair in pairs for graph in pair)
    return hashlib.sha256(text.encode()).hexdigest()


def _versions() -> dict[str, str]:
    return {name: version(name) for name in ('graphgym-nc', 'torch', 'torch_geometric')}
