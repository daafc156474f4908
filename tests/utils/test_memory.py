import ctypes
import subprocess
import sys


def test_freed_memory_is_kept():
    # In a process of its own, which it changes for good.
    code = (
        'import resource, torch\n'
        'from graphgym_nc.utils.memory import keep_freed_memory\n'
        'print(keep_freed_memory())\n'
        'torch.ones(1 << 24)\n'
        'before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt\n'
        'for _ in range(10): torch.ones(1 << 24)\n'
        'print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)\n'
    )
    result = subprocess.run(
        [sys.executable, '-W', 'ignore', '-c', code], capture_output=True, text=True, check=True
    )
    kept, faults = result.stdout.split()
    assert kept == str(hasattr(ctypes.CDLL(None), 'gnu_get_libc_version'))
    if kept == 'True':
        assert int(faults) < 50_000  # 10 times 64 MB are 163,840 pages
