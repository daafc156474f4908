import json
import os
import subprocess
import sys

import pytest

pytest.importorskip('triton', reason='needs triton')

# In a process of its own: what is interpreted cannot be compiled.
SCRIPT = """
import json
import torch
from graphgym_nc.benchmark import triton_kernels as kernels

cases = kernels.Case(), kernels.Case(torch.bfloat16, torch.int64, 1)
launches = kernels.distinct_launches(cases[0])
code = [kernels.binary_of(launch, 'sm_80').asm['ptx'] for launch in launches]
print(json.dumps([kernels.measure_kernels(['sm_80'], cases), code]))
"""


@pytest.fixture(scope='module')
def compiled():
    environment = {**os.environ, 'TRITON_INTERPRET': '0'}
    command = [sys.executable, '-c', SCRIPT]
    done = subprocess.run(command, check=True, env=environment, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)


def test_kernels_fit_into_the_registers_of_a_gpu(compiled):
    rows, _ = compiled
    assert {row['rows'] for row in rows} == {'float32', 'bfloat16'}
    assert len(rows) == 2 * 8
    for row in rows:
        registers, spilled, _ = map(int, row['sm_80'].split(' / '))
        assert 0 < registers < 255
        assert spilled == 0


def test_nothing_is_added_atomically(compiled):
    _, code = compiled
    assert len(code) > 8
    for text in code:
        assert 'ld.global' in text
        assert 'atom.' not in text
        assert 'red.global' not in text
