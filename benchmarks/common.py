"""Shared parts of the benchmarks: data, timing, peak memory, and printed tables."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

HERE = Path(__file__).parent
SHARED = Path(os.environ.get("OGIVE_SHARED", HERE.resolve().parents[1] / "shared"))


def best_of(repeats: int, work: Callable[[], Any]) -> float:
    """Return the shortest of several times, in seconds; other work on the machine only adds."""
    return min(seconds(work) for _ in range(repeats))


def seconds(work: Callable[[], Any]) -> float:
    begin = perf_counter()
    work()
    return perf_counter() - begin


def in_own_process(script: str, *arguments: str) -> dict[str, Any]:
    """Run one job of a script in its own process, to measure its own time and peak memory."""
    command = [sys.executable, str(HERE / script), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def peak_gigabytes() -> float:
    """Return the peak memory of this process."""
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1e9 if sys.platform == "darwin" else 1e6)


def print_table(title: str, header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a Markdown table that can be copied into the documentation."""
    print(f"\n### {title}\n")
    print("| " + " | ".join(header) + " |")
    print("|" + "---|" * len(header))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")
    sys.stdout.flush()


def machine() -> str:
    """Describe the machine in one line."""
    import os

    import numpy as np

    return (
        f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}, "
        f"Python {platform.python_version()}, NumPy {np.__version__}"
    )
