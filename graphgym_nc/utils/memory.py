"""Has the C library keep freed memory for the next step of training.

By default, glibc gives large blocks back to the system as soon as they are freed,
and every step then pays for getting, and zeroing, the same pages again.
"""

import ctypes

_M_TRIM_THRESHOLD, _M_MMAP_MAX = -1, -4  # malloc.h


def keep_freed_memory() -> bool:
    """Keeps freed memory in this process, where the C library is glibc.

    Returns:
        Whether it is.
    """
    try:
        library = ctypes.CDLL(None)
        library.gnu_get_libc_version  # noqa: B018 - a name that only glibc has
    except (OSError, TypeError, AttributeError):
        return False
    kept = library.mallopt(_M_MMAP_MAX, 0)
    return bool(kept and library.mallopt(_M_TRIM_THRESHOLD, -1))
