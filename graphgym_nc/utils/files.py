"""Files that are there as a whole or not at all."""

import errno
import os
import platform
from pathlib import Path


def write_atomically(path: Path, content: str | bytes) -> None:
    """Replaces a file at once: whoever reads it, or is left with it after a
    crash, has all of the old content or all of the new.

    Raises:
        OSError: If it cannot be written. If the disk is full, the error names
            the file and its size.
    """
    content = content.encode() if isinstance(content, str) else content
    # Processes on two nodes may have the same number.
    writer = f'{platform.node()}.{os.getpid()}'
    unfinished = path.with_name(f'{path.name}.{writer}.unfinished')
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(unfinished, 'wb') as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    except OSError as error:
        if is_full(error):
            needed = f"the disk has no room for '{path}', which needs {len(content):,} bytes"
            raise OSError(error.errno, needed) from error
        raise
    finally:
        unfinished.unlink(missing_ok=True)


def is_full(error: BaseException) -> bool:
    """Whether an error says that a disk, or one's share of it, is full."""
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
