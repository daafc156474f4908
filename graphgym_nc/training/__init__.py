"""One run: its data, model, training, checkpoints and statistics.

Imports :mod:`~graphgym_nc.graphgym` and what that imports.
"""

import os

if os.name != 'posix':  # locks of folders, signals, memory of the process
    raise ImportError(
        'training needs Linux or macOS; layers, transforms and data sets work elsewhere too'
    )
