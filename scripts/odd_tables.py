"""Calibrate tables that nobody plans, and print what comes of them, by model.

    python scripts/odd_tables.py --tables 300 --seed 0 --jobs 2

One row per model: tables, how many were refused with a sentence, how many raised anything else,
warnings of libraries that escaped, numbers that are not finite without a reason in `flag`, `notes`
or `at_bound`, fits of over a CPU second, and the slowest of all.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial

import numpy as np

import ogive as og
from ogive.irt.models import MODELS

SECONDS = 1.0  # CPU seconds that a fit of a tiny table may take
TINY = 1_000  # cells


@dataclass
class Tally:
    """What came of the tables of one model."""

    model: str
    tables: int = 0
    refused: int = 0
    slow: int = 0
    slowest: float = 0.0
    failures: list[str] = field(default_factory=list)
    warned: list[str] = field(default_factory=list)
    silent: list[str] = field(default_factory=list)
    late: list[str] = field(default_factory=list)


def main() -> int:
    """Run the campaign and print one row per model."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--tables", type=int, default=300, help="for each model")
    words.add_argument("--seed", type=int, default=0)
    words.add_argument("--jobs", type=int, default=1)
    words.add_argument("--models", nargs="*", default=list(MODELS))
    given = words.parse_args()
    with ProcessPoolExecutor(given.jobs) as pool:
        work = partial(tally, n_tables=given.tables, seed=given.seed)
        found = list(pool.map(work, given.models))
    print("| model | tables | refused | failures | warnings | no reason | over 1 s | slowest |")
    print("|---|---|---|---|---|---|---|---|")
    for one in found:
        counts = (one.tables, one.refused, len(one.failures), len(one.warned), len(one.silent))
        print("|", one.model, *(f"| {n}" for n in counts), f"| {one.slow} | {one.slowest:.2f} s |")
    for one in found:
        for word in ("failures", "warned", "silent", "late"):
            for line in getattr(one, word)[:5]:
                print(f"{one.model}, {word}: {line}")
    return int(any(one.failures or one.warned or one.silent for one in found))


def tally(model: str, n_tables: int, seed: int) -> Tally:
    """Calibrate odd tables with a model; each has its own seed."""
    found = Tally(model)
    for k in range(n_tables):
        random = np.random.default_rng([seed, k])
        name, cells = odd_table(MODELS[model].kind, random)
        what = f"table {k} of seed {seed} ({name}, {cells.shape[0]} x {cells.shape[1]})"
        priors = None if random.random() < 0.15 else "default"
        try_table(found, what, cells, priors)
    return found


def try_table(found: Tally, what: str, cells: np.ndarray, priors: str | None = "default") -> None:
    """Calibrate one table, read all its numbers, and note what is wrong."""
    found.tables += 1
    kind = MODELS[found.model].kind
    begin = time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            responses = og.Responses(cells, kind=kind)
            calibration = og.calibrate(responses, found.model, priors=priors)
            took = time.process_time() - begin
            found.silent += [f"{what}: {reason}" for reason in unexplained(calibration)]
        except og.OgiveError:
            found.refused += 1
            took = time.process_time() - begin
        except Exception as error:
            found.failures.append(f"{what}: {type(error).__name__}: {error}")
            took = time.process_time() - begin
    found.warned += [f"{what}: {each.message}" for each in caught]
    found.slowest = max(found.slowest, took)
    if took > SECONDS and cells.size <= TINY:
        found.slow += 1
        found.late.append(f"{what}: {took:.1f} s")


def unexplained(calibration: og.Calibration) -> list[str]:
    """Return numbers of a calibration that are not finite, and for which no reason is given."""
    found = []
    items = calibration.items
    for name in items.select_dtypes("number"):
        bad = ~np.isfinite(items[name].to_numpy(float)) & (items["flag"] == "").to_numpy()
        if bad.any() and not any(
            str(item) in note for item in items.index[bad] for note in calibration.notes
        ):
            found.append(f"{name} of {items.index[bad][0]}")
    if not np.isfinite(calibration.log_likelihood):
        found.append("log-likelihood")
    for method in ("eap", "ml"):
        frame = calibration.abilities(method=method)
        bad = ~np.isfinite(frame[["ability", "se"]].to_numpy(float)).all(axis=1)
        if (bad & ~frame["at_bound"].to_numpy(bool)).any():
            found.append(f"{method} of {frame.index[bad][0]}")
    return found


def odd_table(kind: str, random: np.random.Generator) -> tuple[str, np.ndarray]:
    """Return a table of the kind that is odd in one or two ways, and in which."""
    shapes = ((1, 1), (2, 2), (1, 9), (9, 1), (3, 4), (5, 40), (40, 5), (12, 12), (3, 90), (90, 3))
    shape = shapes[random.integers(len(shapes))]
    cells = _ordinary(kind, shape, random)
    names = random.choice(list(ODD), size=random.integers(1, 3), replace=False)
    for name in names:
        cells = ODD[name](cells, random)
    return " and ".join(names), cells


def _ordinary(kind: str, shape: tuple[int, int], random: np.random.Generator) -> np.ndarray:
    if kind == "binary":
        return (random.random(shape) < random.random(shape[1])).astype(float)
    if kind == "continuous":
        return random.beta(2, 2, size=shape)
    return random.integers(0, random.integers(2, 6), size=shape).astype(float)


def _missing(cells: np.ndarray, random: np.random.Generator) -> np.ndarray:
    return np.where(random.random(cells.shape) < random.random(), np.nan, cells)


def _all_but_one(cells: np.ndarray, random: np.random.Generator) -> np.ndarray:
    found = np.full(cells.shape, np.nan)
    place = random.integers(cells.size)
    found.flat[place] = cells.flat[place]
    return found


def _constant_columns(cells: np.ndarray, random: np.random.Generator) -> np.ndarray:
    found = cells.copy()
    some = random.random(cells.shape[1]) < 0.5
    found[:, some] = cells[:1, some]
    return found


def _constant_rows(cells: np.ndarray, random: np.random.Generator) -> np.ndarray:
    found = cells.copy()
    some = random.random(cells.shape[0]) < 0.5
    found[some] = cells[some, :1]
    return found


def _all_alike(cells: np.ndarray, random: np.random.Generator) -> np.ndarray:
    return np.full(cells.shape, cells.flat[random.integers(cells.size)])


def _doubled_items(cells: np.ndarray, random: np.random.Generator) -> np.ndarray:
    return cells[:, random.integers(cells.shape[1], size=cells.shape[1])]


def _doubled_rows(cells: np.ndarray, random: np.random.Generator) -> np.ndarray:
    return cells[random.integers(cells.shape[0], size=cells.shape[0])]


def _sorted_cells(cells: np.ndarray, random: np.random.Generator) -> np.ndarray:
    del random
    return np.sort(np.sort(cells, axis=0), axis=1)


def _at_the_ends(cells: np.ndarray, random: np.random.Generator) -> np.ndarray:
    known = cells[np.isfinite(cells)]
    if not known.size:
        return cells
    ends = np.array([known.min(), known.max()])
    return np.where(random.random(cells.shape) < 0.7, random.choice(ends, cells.shape), cells)


def _huge_and_small(cells: np.ndarray, random: np.random.Generator) -> np.ndarray:
    values = np.array([1e300, 1e-300, -1e300, 1e12, 5e-324, -0.0])
    return np.where(random.random(cells.shape) < 0.2, random.choice(values, cells.shape), cells)


def _tiny_spread(cells: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Return columns that all but agree, each at a place and with a spread of its own."""
    known = np.isfinite(cells)
    place = random.choice([0.0, 0.5, 1.0, 1e9], cells.shape[1])
    spread = random.choice([1e-300, 1e-12, 1e-6, 1.0], cells.shape[1])
    return np.where(known, place + spread * np.where(known, cells, 0.0), cells)


def _huge_unit(cells: np.ndarray, random: np.random.Generator) -> np.ndarray:
    with np.errstate(over="ignore"):
        return cells * random.choice([1e300, 1e150, 1e12, 1e-150, 1e-300])


def _endless(cells: np.ndarray, random: np.random.Generator) -> np.ndarray:
    return np.where(random.random(cells.shape) < 0.1, np.inf, cells)


def _nearly_alike(cells: np.ndarray, random: np.random.Generator) -> np.ndarray:
    known = cells[np.isfinite(cells)]
    middle = known.mean() if known.size else 0.0
    return np.clip(middle + 1e-9 * random.normal(size=cells.shape), 0, None)


ODD = {
    "missing": _missing,
    "all missing but one": _all_but_one,
    "constant columns": _constant_columns,
    "constant rows": _constant_rows,
    "all alike": _all_alike,
    "doubled items": _doubled_items,
    "doubled rows": _doubled_rows,
    "sorted": _sorted_cells,
    "at the ends": _at_the_ends,
    "huge and small": _huge_and_small,
    "tiny spread": _tiny_spread,
    "huge unit": _huge_unit,
    "infinite": _endless,
    "nearly alike": _nearly_alike,
}

if __name__ == "__main__":
    sys.exit(main())
