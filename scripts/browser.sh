#!/bin/sh
# Install Debian's chromium where it is missing and that is allowed: reports are then tested in a
# real browser. Without it those tests are skipped, and say why.
set -eu

if command -v chromium >/dev/null 2>&1 || [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    exit 0
fi
install() {
    DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends chromium >/dev/null 2>&1
}
echo "Installing Debian's package chromium ..." >&2
install || { apt-get update >/dev/null 2>&1 && install; } || echo "No chromium; reports are not tested in a browser." >&2
