"""What the benchmarks share: data, timing, peak memory, and tables as they are printed."""

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
SHARED = Path(os.environ.get("ITEMWISE_SHARED", HERE.resolve().parents[1] / "shared"))


def best_of(repeats: int, work: Callable[[], Any]) -> float:
    """Shortest time of several, in seconds: other work on the machine only ever adds."""
    return min(seconds(work) for _ in range(repeats))


def seconds(work: Callable[[], Any]) -> float:
    begin = perf_counter()
    work()
    return perf_counter() - begin


def in_own_process(script: str, *arguments: str) -> dict[str, Any]:
    """Run one job of a script by itself, so that its time and peak memory are its own."""
    command = [sys.executable, str(HERE / script), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def peak_gigabytes() -> float:
    """Largest memory that this process has held."""
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1e9 if sys.platform == "darwin" else 1e6)


def print_table(title: str, header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """A Markdown table, so that what is printed can stand in the documentation."""
    print(f"\n### {title}\n")
    print("| " + " | ".join(header) + " |")
    print("|" + "---|" * len(header))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")
    sys.stdout.flush()


def machine() -> str:
    """One line on where the figures come from."""
    import os

    import numpy as np

    return (
        f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}, "
        f"Python {platform.python_version()}, NumPy {np.__version__}"
    )
