#!/usr/bin/env bash
# Runs a grid of configurations, each with several seeds, and aggregates them. Started again, it
# runs what is not done.
#   bash run/run_batch.sh grids/smoke.txt [--config FILE] [--repeat N] [--jobs N] [--sample N]
#        [--compare ALIAS,...] [--retry N] [--dry-run] [KEY VALUE ...]
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
python=$root/.venv/bin/python
[ -x "$python" ] || python=python
exec "$python" "$root/run/run_batch.py" "$@"
