"""What a person waits for: the public calls from a NumPy array, beside the engine inside them.

python benchmarks/public_path.py              # on this machine
python benchmarks/public_path.py --device cuda
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np

import ogive as og
from common import print_table
from ogive.irt.encoded_responses import Encoded, encode
from ogive.irt.estimation.objective import Problem
from ogive.irt.models import find_model
from ogive.stats.array_backend import workers

JOBS = [
    ("2pl", 10_000, 500),
    ("3pl", 10_000, 500),
    ("2pl", 1_000_000, 100),
    ("3pl", 1_000_000, 100),
]
DEVICE_JOBS = [
    ("2pl", 1_000_000, 1_000),
    ("3pl", 1_000_000, 1_000),
    ("3pl", 100_000, 1_000),
]
BLOCK = 20_000  # respondents drawn at a time


def draw(name: str, n_respondents: int, n_items: int) -> np.ndarray:
    """Return right and wrong answers as a person has them: one byte each, in NumPy."""
    random = np.random.default_rng(1)
    model = find_model(name)
    coords = model.from_parameters(model.sample(n_items, random))
    cells = np.empty((n_respondents, n_items), dtype=np.int8)
    for first in range(0, n_respondents, BLOCK):
        rows = cells[first : first + BLOCK]
        chance = np.exp(model.log_prob(coords, random.standard_normal(len(rows)))[1]).T
        rows[:] = random.random(rows.shape, dtype=np.float32) < chance
    return cells


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return seconds that `work` takes, and what it returns."""
    begun = perf_counter()
    found = work()
    return perf_counter() - begun, found


def public(cells: np.ndarray, name: str, engine: og.EM) -> list[float]:
    """Return seconds of each public call, one after the other."""
    made, table = timed(lambda: og.Responses(cells))
    fitted, cal = timed(lambda: og.calibrate(table, name, engine=engine, progress=False))
    shown, _ = timed(lambda: cal.items)
    scored, _ = timed(cal.abilities)
    return [made, fitted, shown, scored]


def inside(cells: np.ndarray, name: str, engine: og.EM) -> tuple[float, float, float]:
    """Return seconds to bring the table to the engine, of the climb, and of one E-step."""
    model = find_model(name)
    moved, data = timed(lambda: _settled(encode(cells, model, None, engine.device)))
    with workers() as run:
        task = Problem(data, model, run)
        climbed, found = timed(lambda: engine.maximize(task))
        step, _ = timed(lambda: task.expect(data, found.coords, found.nodes))
    return moved, climbed, step


def _settled(data: Encoded) -> Encoded:
    """Return `data`, once it has arrived."""
    float(data.weights[0])
    return data


def measure(name: str, shape: tuple[int, int], device: str | None) -> list[tuple[object, ...]]:
    """Return the rows of one job: the first call, and the same again."""
    cells, engine = draw(name, *shape), og.EM(device=device)
    first, again = public(cells, name, engine), public(cells, name, engine)
    moved, climbed, step = inside(cells, name, engine)
    job = f"{name.upper()} {shape[0]:,} × {shape[1]:,}"
    rows = []
    for which, seconds in (("first", first), ("again", again)):
        beside = (seconds[1] - climbed) / seconds[1]
        rows.append(
            (
                f"{job}, {which}",
                *(f"{part:.3f}" for part in seconds),
                f"{sum(seconds):.3f}",
                f"{moved:.3f}",
                f"{climbed:.3f}",
                f"{beside:.0%}",
                f"{seconds[3] / step:.1f}",
            )
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device")
    parser.add_argument("--job", action="append", help="such as 2pl:10000x500")
    asked = parser.parse_args()
    jobs = DEVICE_JOBS if asked.device else JOBS
    if asked.job:
        jobs = [(name, *map(int, shape.split("x"))) for name, shape in _pairs(asked.job)]
    _warm(asked.device)
    print_table(
        "Seconds of the public calls, from a NumPy array",
        (
            "job",
            "Responses",
            "calibrate",
            "items",
            "abilities",
            "together",
            "to the engine",
            "the climb alone",
            "calibrate beside the climb",
            "abilities / E-step",
        ),
        [row for name, *shape in jobs for row in measure(name, (shape[0], shape[1]), asked.device)],
    )


def _pairs(jobs: list[str]) -> list[tuple[str, str]]:
    return [(job.split(":")[0], job.split(":")[1]) for job in jobs]


def _warm(device: str | None) -> None:
    """Import what a first call imports, and start the device."""
    small = og.simulate("2pl", 200, 10, random_state=0).responses
    for name in ("2pl", "3pl"):
        cal = og.calibrate(small, name, engine=og.EM(device=device), progress=False)
        _ = cal.abilities(), cal.items


if __name__ == "__main__":
    main()
