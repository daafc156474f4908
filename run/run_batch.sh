#!/usr/bin/env bash
# graphgym-nc sweep, with the Python in .venv if there is one: bash run/run_batch.sh grids/smoke.txt
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
python=$root/.venv/bin/python
[ -x "$python" ] || python=python
exec "$python" "$root/run/run_batch.py" "$@"
