# Sourced by quickstart.sh and test.sh: makes .venv beside the project, once, and installs the
# project into it. Sets $root and $python.
#   . setup.sh [EXTRA]      an extra of pyproject.toml, such as test

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
python=$root/.venv/bin/python
extra=${1:+[$1]}

fail() {
    echo "$(basename "$0"): $*" >&2
    exit 1
}

if ! "$python" -m pip --version >/dev/null 2>&1; then
    base=$(command -v python3 || command -v python) || fail 'Python 3.10 or later is needed, and none was found.'
    "$base" -c 'import sys; sys.exit(sys.version_info < (3, 10))' ||
        fail "Python 3.10 or later is needed, and '$base' is $("$base" --version 2>&1)."
    echo "Making $root/.venv ..."
    "$base" -m venv "$root/.venv" ||
        fail "'$base -m venv' failed: install the venv module of your Python (Debian: python3-venv)."
fi

# Nothing to install, and so no network needed, while these files stay the same.
stamp=$root/.venv/installed-${1:-base}
wanted=$(cat "$root/pyproject.toml" "$root/constraints.txt")
if [ "$(cat "$stamp" 2>/dev/null)" != "$wanted" ]; then
    echo "Installing graphgym-nc$extra (the first time, this takes some minutes) ..."
    "$python" -m pip install --quiet --constraint "$root/constraints.txt" --editable "$root$extra" ||
        fail 'The installation failed: are the package index and its mirror reachable? Started again, it goes on.'
    printf '%s\n' "$wanted" >"$stamp"
fi
