"""Fetches files that are too large to be fetched blindly."""

import time
from pathlib import Path
from urllib.request import urlopen

from tqdm import tqdm


def fetch(url: str, path: Path, timeout: float, deadline: float | None = None) -> None:
    """Downloads a file.

    PyG's own download waits forever for a server that stalls, and OGB's asks on
    the terminal.

    Args:
        url: Where it is.
        path: Where to write it.
        timeout: Seconds to wait for a server that does not answer.
        deadline: Seconds that all may take; :obj:`None` for no limit.

    Raises:
        OSError: If it cannot be had, or not in time.
    """
    start = time.monotonic()
    with urlopen(url, timeout=timeout) as response, open(path, 'wb') as file:
        size = int(response.headers.get('Content-Length', 0)) or None
        with tqdm(
            total=size, desc=f'Fetching {url}', unit='B', unit_scale=True, disable=None
        ) as bar:
            while chunk := response.read(1 << 20):
                file.write(chunk)
                bar.update(len(chunk))
                if deadline is not None and time.monotonic() - start > deadline:
                    raise TimeoutError(f'not done after {deadline:g} s')
