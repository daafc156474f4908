"""Runs a command: :obj:`python -m graphgym_nc.cli train ...`."""

import runpy
import sys
from pathlib import Path

_SCRIPTS = {'train': 'main.py', 'report': 'report.py'}

if __name__ == '__main__':
    name = sys.argv.pop(1)
    runpy.run_path(str(Path(__file__).parents[2] / 'run' / _SCRIPTS[name]), run_name='__main__')
