import os
from pathlib import Path

import pytest


@pytest.fixture(scope='session')
def shared_data() -> Path:
    """The folder of data that is not part of the repository."""
    beside = Path(__file__).parents[3] / 'shared' / 'data'
    path = Path(os.environ.get('GRAPHGYM_NC_DATA', beside))
    if not path.is_dir():
        pytest.skip(f'no data at {path}: set GRAPHGYM_NC_DATA to where it is')
    return path
