#!/usr/bin/env bash
# Everything a change must pass: ruff, mypy, imports, the documentation and the tests. Arguments go
# to pytest.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh" test
cd "$root"

"$python" -m ruff check .
"$python" -m ruff format --check .
"$python" -m mypy
"$root/.venv/bin/lint-imports" --no-cache
"$python" -m sphinx --quiet --fail-on-warning --builder html docs build/docs
OMP_NUM_THREADS=1 "$python" -m pytest --numprocesses auto --dist loadgroup "$@"
