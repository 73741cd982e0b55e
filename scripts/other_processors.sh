#!/bin/sh
# Usage: scripts/other_processors.sh PYTHON [KERNEL ...]
#
# Run the numeric tests with OpenBLAS kernels of other processors, whose last bits differ, in random
# order and with a random hash seed: a test must depend on none of these. Without a kernel, take one
# that this processor would not choose by itself.
set -eu

python=$1
shift
numeric="tests/irt tests/stats tests/checks"

kernel() {
    "$python" -c '
import numpy
from threadpoolctl import threadpool_info
found = [info.get("architecture") or "" for info in threadpool_info() if info["internal_api"] == "openblas"]
print(found[0] if found else "")'
}

own=$(kernel)
if [ -z "$own" ]; then
    echo "NumPy is not linked to OpenBLAS here: other processors cannot be imitated." >&2
    exit 0
fi
if [ $# -eq 0 ]; then
    case $own in
        Haswell | Zen) set -- Prescott ;;
        *) set -- Haswell ;;
    esac
fi
for other in "$@"; do
    if [ "$(OPENBLAS_CORETYPE=$other kernel)" = "$own" ]; then
        echo "OpenBLAS keeps to $own where $other is asked for: nothing to try." >&2
        continue
    fi
    echo "Numeric tests with the kernels of $other (this processor: $own)" >&2
    # shellcheck disable=SC2086
    PYTHONHASHSEED=random OPENBLAS_CORETYPE=$other "$python" -m pytest -q -n 2 --dist worksteal -m "not slow" $numeric
done
