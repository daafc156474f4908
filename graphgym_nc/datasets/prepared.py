"""Data that many processes ask for at the same time."""

import hashlib
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock


@contextmanager
def prepared_once(folder: Path, *what: object) -> Iterator[None]:
    """Makes the first process that loads a data set do so alone, as it has to
    download and process it; on any file system that all of them share and that
    knows locks. Once it is done, none waits for another.

    Args:
        folder: The folder of the data set.
        what: All that tells it from others in the same folder.
    """
    digest = hashlib.sha256(repr(what).encode()).hexdigest()[:12]
    mark = folder / f'.prepared-{digest}'
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder / f'.prepare-{digest}.lock')
        is_first = not mark.exists()
        if is_first:
            lock.acquire()
            is_first = not mark.exists()
        if not is_first:
            lock.release()
    except PermissionError:  # nothing can be prepared here
        yield
        return
    try:
        if is_first:
            logging.info("Preparing the data in '%s' (others wait)", folder)
        yield
        if is_first:
            mark.touch()
    finally:
        lock.release()
