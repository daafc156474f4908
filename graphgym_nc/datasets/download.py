"""Fetches archives, wholly or not at all."""

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen
from zipfile import ZipFile

from tqdm import tqdm


@contextmanager
def unpacked(url: str, place: Path, timeout: float, patience: int = 60) -> Iterator[Path]:
    """Fetches an archive, and unpacks it into a folder that is gone in the end:
    what is wanted of it is to be moved.

    PyG's own download waits forever for a server that stalls, and trips over
    what is left of a download that broke off.

    Args:
        url: The address of a zip file.
        place: Where the folder is made, so that moving takes no copy.
        timeout: Seconds to wait for a server that does not answer.
        patience: How many times as long all of it may take.

    Raises:
        OSError: If it cannot be had.
        zipfile.BadZipFile: If it is no archive.
    """
    place.mkdir(parents=True, exist_ok=True)
    deadline = time.monotonic() + patience * timeout
    with tempfile.TemporaryDirectory(dir=place) as folder:
        archive = Path(folder) / 'archive.zip'
        with urlopen(url, timeout=timeout) as response, open(archive, 'wb') as file:
            size = int(response.headers.get('Content-Length', 0)) or None
            with tqdm(
                total=size, desc=f'Fetching {url}', unit='B', unit_scale=True, disable=None
            ) as bar:
                while chunk := response.read(1 << 20):
                    file.write(chunk)
                    bar.update(len(chunk))
                    if time.monotonic() > deadline:
                        raise TimeoutError(f'not done after {patience * timeout:g} s')
        with ZipFile(archive) as content:
            content.extractall(folder)
        archive.unlink()
        yield Path(folder)
