#!/usr/bin/env bash
# Tests with the lowest versions that pyproject.toml allows, in .venv-lowest. Arguments go to
# pytest. torch is large, and so is that of .venv; pytest, too.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh" test
cd "$root"

lowest=$root/.venv-lowest
"$python" -m pip install --quiet uv
"$python" -m venv --clear --without-pip "$lowest"
"$python" -m uv pip install --python "$lowest" --resolution lowest-direct \
    --override <(echo "torch; sys_platform == 'never'") --requirement pyproject.toml
# What .venv-lowest lacks is found in .venv.
site='import sysconfig; print(sysconfig.get_path("purelib"))'
"$python" -c "$site" >"$("$lowest/bin/python" -c "$site")/others.pth"
export PYTHONPATH=$root OMP_NUM_THREADS=1
[ $# -gt 0 ] || set -- tests/results tests/reports tests/transforms tests/wl tests/nn tests/graphgym
exec "$lowest/bin/python" -m pytest -W default --numprocesses auto "$@"
