#!/bin/sh
# Install the wheel of dist/ as it is delivered, with the locked versions, and list what is there.
set -eu

venv=build/sbom
rm -rf "$venv"
sh scripts/venv.sh "$venv" bare
wheel=$(ls dist/ogive-*.whl)
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check \
    ${LOCK:+--constraint "$LOCK"} "$wheel[serve,learning]" packaging
bill="build/$(basename "$wheel" | cut -d- -f1,2).cdx.json"
"$venv/bin/python" scripts/sbom.py --extras serve,learning >"$bill"
echo "$bill"
