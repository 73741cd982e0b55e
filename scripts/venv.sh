#!/bin/sh
# Usage: scripts/venv.sh DIRECTORY [EXTRAS]
#
# Install this package into a virtual environment, with extras such as "dev" or "dev,torch"; with
# "bare", nothing is installed. Versions are those of constraints.txt, so that everybody tests with
# the same; with LOCK= (empty), the newest.
# Makes the environment where it is missing or broken; does nothing where all is up to date.
set -eu

venv=$1
extras=${2:-}
python=${PYTHON:-python3}
lock=${LOCK-constraints.txt}

say() { printf '%s\n' "$*" >&2; }

works() { "$venv/bin/python" -m pip --version >/dev/null 2>&1; }

check_python() {
    if ! command -v "$python" >/dev/null 2>&1; then
        say "There is no '$python' here. On Debian: sudo apt-get install python3 python3-venv"
        exit 1
    fi
    if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
        say "$("$python" --version) is too old: ogive needs Python 3.11 or newer."
        say "Name another one: make PYTHON=python3.12 ..."
        exit 1
    fi
}

# Debian packs the venv module apart from Python; without it, others may do the same.
try_venv() { "$python" -m venv --clear "$venv" >/dev/null 2>&1 && works; }

try_virtualenv() {
    command -v virtualenv >/dev/null 2>&1 &&
        virtualenv --quiet --clear --python "$python" "$venv" >/dev/null 2>&1 && works
}

try_uv() {
    command -v uv >/dev/null 2>&1 &&
        uv venv --quiet --clear --seed --python "$python" "$venv" >/dev/null 2>&1 && works
}

try_apt() {
    [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null 2>&1 || return 1
    say "Installing Debian's package python3-venv ..."
    { apt_install || { apt-get update >/dev/null 2>&1 && apt_install; }; } && try_venv
}

apt_install() {
    DEBIAN_FRONTEND=noninteractive apt-get install -y python3-venv >/dev/null 2>&1
}

make_venv() {
    check_python
    say "Making the virtual environment $venv ..."
    if try_venv || try_virtualenv || try_uv || try_apt; then
        return
    fi
    say "No virtual environment can be made: '$python -m venv' does not work here. Run"
    say "    sudo apt-get install python3-venv"
    say "and then make again."
    exit 1
}

works || make_venv
if [ "$extras" = bare ]; then
    exit 0
fi

# The stamp lies inside the environment, so it goes when the environment goes.
stamp="$venv/.ogive-${extras:-plain}"
wanted=$(cat pyproject.toml src/ogive/__init__.py ${lock:+"$lock"} | cksum)
if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ]; then
    exit 0
fi
say "Installing ogive${extras:+ with $extras} into $venv; the first time takes a minute or two ..."
install() { "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "$@"; }
# A version of torch that is asked for goes first; the extra is then content with it.
if [ -n "${TORCH:-}" ]; then
    install "torch==$TORCH"
fi
target=".${extras:+[$extras]}"
if [ -z "$lock" ] || ! install --constraint "$lock" --editable "$target"; then
    [ -z "$lock" ] || say "The versions of $lock are not to be had here: installing the newest ..."
    install --editable "$target"
fi
printf '%s\n' "$wanted" >"$stamp"
