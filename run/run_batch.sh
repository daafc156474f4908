#!/usr/bin/env bash
# Runs a grid of configurations, each with several seeds, and aggregates them. Started again, it
# runs what is not done.
#   bash run/run_batch.sh grids/smoke.txt [--config FILE] [--repeat N] [--jobs N] [--sample N]
#        [--compare ALIAS,...] [--retry N] [--dry-run] [--status] [KEY VALUE ...]
#   bash run/run_batch.sh grids/smoke.txt --launcher slurm [--site FILE] [--partition P] [--time T]
#        [--gpus N] [--cpus N] [--mem M] [--array-parallelism N] [--prepare] [--wait] ...
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
python=$root/.venv/bin/python
[ -x "$python" ] || python=python
exec "$python" "$root/run/run_batch.py" "$@"
