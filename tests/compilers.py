"""What tests of torch's compiler need."""

import os
import shutil

import pytest

_NAME = os.environ.get('CXX', 'g++')

#: Skips a test where there is no compiler for what torch's compiler writes.
needs_compiler = pytest.mark.skipif(
    shutil.which(_NAME) is None,
    reason=f"torch.compile needs a C++ compiler: there is no '{_NAME}'",
)
