"""How well `link` recovers an old scale and finds drifted anchors, in simulations.

python benchmarks/linking.py [replications] [drift]

With `drift`, only the tables of what is called drifted are printed.

The new respondents differ from the old ones in mean and standard deviation, and a tenth of the
anchors became harder. Slope and intercept are compared with those of the sampled respondents; the
sampling error of the respondents themselves is not part of linking.
"""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd

import ogive as og
from common import machine, print_table, seconds

SIZES = ((30, 1000), (100, 1000), (30, 4000), (100, 4000))  # anchors, respondents per group
METHODS = ("stocking-lord", "haebara", "mean-sigma", "mean-mean", "fixed")
SHARE = 0.1  # share of the anchors that drift
HARDER = (0.5, 1.0)  # increase in difficulty on the old scale
MEAN, SD = 0.5, 1.2  # of the new respondents
NEW_ITEMS = 20


def world(
    n_anchors: int, n: int, seed: int, *, drifting: bool = True
) -> tuple[og.Responses, og.Responses, np.ndarray, np.ndarray]:
    """Return responses to both versions, the true slope and intercept, and the drifted anchors."""
    random = np.random.default_rng(seed)
    items = og.simulate("2pl", 2, n_anchors + NEW_ITEMS, random_state=seed).truth.items
    drifted = np.zeros(n_anchors, dtype=bool)
    if drifting:
        drifted[random.choice(n_anchors, round(SHARE * n_anchors), replace=False)] = True
    later = items.copy()
    change = np.where(drifted, random.uniform(*HARDER, n_anchors), 0.0)
    later["difficulty"] += np.concatenate([change, np.zeros(NEW_ITEMS)])
    before, after = random.normal(size=n), random.normal(MEAN, SD, n)
    seeds = [
        int(s) for s in random.integers(1 << 30, size=2)
    ]  # independent random numbers for the two versions
    old = og.simulate(
        "2pl", items=items.iloc[:n_anchors], abilities=before, random_state=seeds[0]
    ).responses
    new = og.simulate("2pl", items=later, abilities=after, random_state=seeds[1]).responses
    slope = after.std() / before.std()
    intercept = (after.mean() - before.mean()) / before.std()
    return old, new, np.array([slope, intercept]), drifted


def rows_of(n_anchors: int, n: int, seed: int) -> list[dict[str, object]]:
    """Run every method on one simulation, with drifted anchors removed and kept."""
    old, new, truth, _ = world(n_anchors, n, seed)
    first, second = og.calibrate(old, "2pl"), og.calibrate(new, "2pl")
    rows = []
    for method in METHODS:
        for drift in ("remove", "keep"):
            found = og.link(first, second, method=method, drift=drift)
            error = np.array([found.slope, found.intercept]) - truth
            rows.append(
                {
                    "anchors": n_anchors,
                    "respondents": n,
                    "method": method,
                    "drift": drift,
                    "slope": error[0],
                    "intercept": error[1],
                    "slope_se": found.slope_se,
                    "intercept_se": found.intercept_se,
                }
            )
    return rows


def root(values: pd.Series) -> float:
    """Return the root mean square."""
    return float(np.sqrt((values**2).mean()))


def summary(rows: list[dict[str, object]]) -> list[tuple[object, ...]]:
    """Return one row per size, method and treatment."""
    keys = ["anchors", "respondents", "method", "drift"]
    found = []
    for key, part in pd.DataFrame(rows).groupby(keys, sort=False):
        numbers = []
        for name in ("slope", "intercept"):
            numbers += [part[name].mean(), root(part[name]), part[f"{name}_se"].mean()]
        found.append((*key, *(f"{x:.3f}" for x in numbers)))
    return found


def called(replications: int) -> list[tuple[object, ...]]:
    """Measure which anchors are called drifted; this does not depend on the method of the line."""
    found = []
    for n_anchors, n in SIZES:
        hits, false = [], []
        for seed in range(replications):
            old, new, _, drifted = world(n_anchors, n, seed)
            linked = og.link(og.calibrate(old, "2pl"), og.calibrate(new, "2pl"))
            judged = linked.anchors["drifted"].reindex(old.items).fillna(value=False)
            judged = judged.to_numpy(dtype=bool)
            hits.append(judged[drifted].mean())
            false.append(judged[~drifted].sum())
        found.append((n_anchors, n, f"{np.mean(hits):.0%}", f"{np.mean(false):.2f}"))
    return found


def quiet(replications: int) -> list[tuple[object, ...]]:
    """Measure how often an alarm is raised when nothing drifted."""
    found = []
    for n_anchors, n in SIZES[:2]:
        alarms = []
        for seed in range(replications):
            old, new, _, _ = world(n_anchors, n, 1000 + seed, drifting=False)
            linked = og.link(og.calibrate(old, "2pl"), og.calibrate(new, "2pl"))
            alarms.append(len(linked.drifted))
        found.append(
            (n_anchors, n, f"{np.mean(np.array(alarms) > 0):.0%}", f"{np.mean(alarms):.2f}")
        )
    return found


def main() -> None:
    """Print both tables."""
    replications = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    print(f"\n## Linking\n\n{machine()}. {replications} simulations per size, 2PL.")
    if "drift" in sys.argv[2:]:
        drift(replications)
        return
    rows: list[dict[str, object]] = []
    took = seconds(
        lambda: rows.extend(
            row for size in SIZES for seed in range(replications) for row in rows_of(*size, seed)
        )
    )
    print_table(
        f"A tenth of the anchors became harder by {HARDER[0]} to {HARDER[1]} ({took:.0f} s)",
        (
            *("anchors", "respondents", "method", "drifted anchors"),
            *("slope: bias", "RMSE", "mean SE", "intercept: bias", "RMSE", "mean SE"),
        ),
        summary(rows),
    )
    drift(replications)


def drift(replications: int) -> None:
    """Print what is called drifted, with and without drift."""
    print_table(
        f"Drifted anchors, {replications} simulations",
        ("anchors", "respondents", "found", "false alarms per simulation"),
        called(replications),
    )
    print_table(
        "Nothing drifted",
        ("anchors", "respondents", "simulations with an alarm", "alarms per simulation"),
        quiet(replications),
    )


if __name__ == "__main__":
    main()
