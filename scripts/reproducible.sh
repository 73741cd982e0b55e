#!/bin/sh
# Usage: scripts/reproducible.sh PYTHON
#
# Build wheel and sdist twice from the last commit: in folders of other names, at other times, with
# other rights, in another language and time zone. The bytes should be the same.
set -eu

python=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

built() {
    mkdir -p "$work/$1"
    git archive HEAD | tar -x -C "$work/$1"
    (cd "$work/$1" && "$python" -m build --no-isolation --outdir "$work/out-$1" . >/dev/null)
}

(umask 022 && TZ=UTC LC_ALL=C built one)
sleep 2 # the times of files count in steps of two seconds in a wheel
(umask 077 && TZ=Asia/Tokyo PYTHONHASHSEED=7 built "another folder")
for file in "$work"/out-one/*; do
    cmp "$file" "$work/out-another folder/$(basename "$file")"
    sha256sum "$file" | sed "s|$work/out-one/||"
done
echo "Both builds gave the same bytes."
