"""Files that are there as a whole or not at all."""

import errno
import io
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch


@contextmanager
def replacing(path: Path, writer: str = '') -> Iterator[Path]:
    """Gives the name of a file to write. It takes the place of another once it is complete.

    Whoever reads the file, or is left with it after a crash, has all of the old content or all
    of the new.

    Args:
        path: The file.
        writer: Tells this process from others that may write the file at the same time.
    """
    unfinished = path.with_name(f'{path.name}{writer}.unfinished')
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield unfinished
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def write_atomically(path: Path, content: str | bytes) -> None:
    """Replaces a file at once.

    Raises:
        OSError: If it cannot be written, naming the file and its size.
    """
    content = content.encode() if isinstance(content, str) else content
    # Processes on two nodes may have the same number.
    writer = f'.{platform.node()}.{os.getpid()}'
    try:
        with replacing(path, writer) as unfinished, open(unfinished, 'wb') as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        if error.filename is not None and not is_full(error):
            raise
        needed = f"{error.strerror}: '{path}' needs {len(content):,} bytes"
        raise OSError(error.errno, needed) from error


def save_atomically(path: Path, content: Any) -> None:
    """Replaces a file of torch's at once, as :meth:`write_atomically` does."""
    buffer = io.BytesIO()
    torch.save(content, buffer)
    write_atomically(path, buffer.getvalue())


def is_full(error: BaseException) -> bool:
    """Whether an error says that there is no room for a file: the disk is full, or a limit of
    the user has been reached.
    """
    full = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    return isinstance(error, OSError) and error.errno in full
