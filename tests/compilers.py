"""What tests of torch's compiler need."""

import os
import shutil
import sys

import pytest

_NAME = os.environ.get('CXX', 'g++')


def _problem() -> str | None:
    if shutil.which(_NAME) is None:
        return f"there is no '{_NAME}'"
    if ' ' in sys.prefix:  # torch does not quote the folders that it names to the compiler
        return f"it cannot be used from a folder with a space, '{sys.prefix}'"
    return None


#: Skips a test where torch's compiler has no C++ compiler to call.
needs_compiler = pytest.mark.skipif(
    _problem() is not None, reason=f'torch.compile needs a C++ compiler: {_problem()}'
)
