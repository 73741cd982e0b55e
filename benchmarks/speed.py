"""How long calibrations take, relative to importing NumPy on the same machine.

python benchmarks/speed.py            all jobs, each in its own process
python benchmarks/speed.py JOB        one job, as JSON
"""

from __future__ import annotations

import json
import subprocess
import sys
from time import perf_counter, process_time

from common import best_of, in_own_process, machine, peak_gigabytes, print_table, seconds

JOBS = {
    "2PL 200 × 500": ("2pl", 200, 500, 0.0, 20),
    "2PL 1,000 × 100": ("2pl", 1_000, 100, 0.0, 20),
    "3PL 1,000 × 100": ("3pl", 1_000, 100, 0.0, 10),
    "3PL 200 × 500": ("3pl", 200, 500, 0.0, 10),
    "2PL 10,000 × 500": ("2pl", 10_000, 500, 0.0, 5),
    "3PL 10,000 × 100": ("3pl", 10_000, 100, 0.0, 5),
    "3PL 10,000 × 500": ("3pl", 10_000, 500, 0.0, 3),
    "2PL 1,000,000 × 100": ("2pl", 1_000_000, 100, 0.0, 3),
    "3PL 5,000 × 20,000, 10 % missing": ("3pl", 5_000, 20_000, 0.1, 1),
}


def run(job: str) -> dict[str, object]:
    import ogive as og

    model, n_respondents, n_items, missing, repeats = JOBS[job]
    responses, _ = og.simulate(model, n_respondents, n_items, missing=missing, random_state=1)
    if n_respondents * n_items < 1e7:
        og.calibrate(responses, model)  # warm: imports and caches
    fits, busy = [], []

    def fit_again() -> None:
        begin = process_time()
        fits.append(og.calibrate(responses, model, tolerance=1e-5))
        busy.append(process_time() - begin)

    time = best_of(repeats, fit_again)
    fit = fits[-1]
    peak = peak_gigabytes()
    errors = seconds(lambda: fit.uncertainty.covariances)
    return {
        "seconds": time,
        "cpu": min(busy),
        "e_steps": fit.iterations,
        "converged": fit.converged,
        "peak": peak,
        "se_seconds": errors,
        "se_peak": peak_gigabytes(),
    }


def import_seconds(name: str) -> float:
    """Time the import of a package in a fresh process; the best of ten."""
    code = f"import time; t = time.perf_counter(); import {name}; print(time.perf_counter() - t)"
    command = [sys.executable, "-c", code]
    done = [subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(10)]
    return min(float(run.stdout) for run in done)


def start_seconds(*words: str) -> float:
    """Time a fresh Python from start to end; the best of ten."""
    times = []
    for _ in range(10):
        begin = perf_counter()
        subprocess.run([sys.executable, *words], capture_output=True, check=True)
        times.append(perf_counter() - begin)
    return min(times)


def main() -> None:
    print(f"\n## Speed\n\n{machine()}. Times are the best of several runs.")
    numpy, own = import_seconds("numpy"), import_seconds("ogive")
    print_table(
        "Import",
        ("", "ms", "relative to NumPy"),
        [
            ("numpy", f"{numpy * 1e3:.0f}", "1.00"),
            ("ogive", f"{own * 1e3:.1f}", f"{own / numpy:.2f}"),
        ],
    )
    bare = start_seconds("-c", "import numpy")
    shown = start_seconds("-c", "from ogive.cli import app; app(['--help'])")
    print_table(
        "Start",
        ("", "ms", "relative to Python with NumPy"),
        [
            ("python -c 'import numpy'", f"{bare * 1e3:.0f}", "1.00"),
            ("ogive --help", f"{shown * 1e3:.0f}", f"{shown / bare:.2f}"),
        ],
    )
    rows = []
    for job in JOBS:
        found = in_own_process("speed.py", job)
        rows.append(
            (
                job,
                f"{found['seconds']:.3f}",
                f"{found['cpu']:.3f}",
                f"{found['seconds'] / numpy:.2f}",
                found["e_steps"],
                found["converged"],
                f"{found['peak']:.2f}",
                f"{found['se_seconds']:.3f}",
                f"{found['se_peak']:.2f}",
            )
        )
    print_table(
        "Calibration to a Newton decrement of 1e-5, default priors",
        (
            "job",
            "s",
            "CPU s",
            "NumPy imports",
            "E-steps",
            "converged",
            "peak GB",
            "standard errors, s",
            "peak GB with them",
        ),
        rows,
    )


if __name__ == "__main__":
    if len(sys.argv) == 2:
        print(json.dumps(run(sys.argv[1])))
    else:
        main()
