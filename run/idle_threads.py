"""Imported before torch: its idle threads soon go to sleep.

By default, a thread of libgomp with nothing to do spins for milliseconds, on a core that another
process may need, be it the one that it waits for. That makes training some hundred times slower as
soon as there are more threads than cores, all processes together.
"""

import os

os.environ.setdefault('GOMP_SPINCOUNT', '10000')
