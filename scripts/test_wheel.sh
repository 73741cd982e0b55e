#!/bin/sh
# Usage: scripts/test_wheel.sh lowest|newest [ARGUMENT OF PYTEST ...]
#
# Install the wheel of dist/ into a new environment, with the lowest or the newest versions of what
# it needs, and run the tests of the sdist against it, in a folder where there is no source.
set -eu

versions=$1
shift
here=$(pwd)
venv="$here/build/$versions"
python="$venv/bin/python"
wheel=$(ls "$here"/dist/ogive-*.whl)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT

say() { printf '%s\n' "$*" >&2; }

rm -rf "$venv"
sh scripts/venv.sh "$venv" bare
say "Installing $(basename "$wheel") and the $versions versions of what it needs ..."
if [ "$versions" = lowest ]; then
    "$python" scripts/lowest.py >"$tree/constraints.txt"
else
    : >"$tree/constraints.txt"
fi
"$python" -m pip install --quiet --disable-pip-version-check --upgrade \
    --constraint "$tree/constraints.txt" "$wheel[dev]"

tar -xzf "$here"/dist/ogive-*.tar.gz -C "$tree" --strip-components=1
rm -rf "$tree/src"
cd "$tree"
"$python" -c "import ogive, sys; sys.exit('site-packages' not in ogive.__file__)"
"$python" -m pip list --disable-pip-version-check 2>/dev/null |
    grep -i -E '^(numpy|scipy|pandas|scikit-learn|joblib|matplotlib|typer|rich|pyarrow) ' >&2
OGIVE_SHARED="${OGIVE_SHARED:-$here/../shared}" \
    "$python" -m pytest -n 2 -m "not slow" -p no:cacheprovider "$@"
