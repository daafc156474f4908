"""Files that are there as a whole or not at all."""

import os
import platform
from pathlib import Path


def write_atomically(path: Path, text: str) -> None:
    """Replaces a file at once: whoever reads it, or is left with it after a
    crash, has all of the old text or all of the new.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # Processes on two nodes may have the same number.
    writer = f'{platform.node()}.{os.getpid()}'
    unfinished = path.with_name(f'{path.name}.{writer}.unfinished')
    try:
        with open(unfinished, 'w') as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
