"""What choosing an algorithm by features is worth on ASlib scenarios.

python benchmarks/algorithm_selection.py [FOLDER [SCENARIO ...]] [--kinds auto,performance,...]

FOLDER holds scenarios of the public repository coseal/aslib_data; by default those under
$OGIVE_SHARED. Each is used with its own ten folds. Unsuccessful runs count as ten times the
cut-off (PAR10), and the time of computing features is charged where the scenario states it.

The closed gap is that of all problems together, ± 1.96 standard errors. Published figures are means
over folds, so "by fold" is ours in the same way.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestRegressor

import ogive as og
from common import SHARED, machine

# Scenarios that were looked at while the default was made; all others are tests.
DEVELOPMENT = (
    "MAXSAT-PMS-2016",
    "SAT11-INDU",
    "SAT12-INDU",
    "CPMP-2015",
    "SAT11-HAND",
    "MIP-2016",
    "GLUHACK-2018",
    "MAXSAT12-PMS",
)
# Published shares of the closed gap, feature costs charged, on the folds of ASlib: 1 - nPAR10 as
# the authors of Run2Survive (Tornede et al., 2020) give it in their repository, the better of their
# settings each. Run2Survive is the best of its three variants, the others are their own versions.
METHODS = ("Run2Survive", "SATzilla'11", "SUNNY", "ISAC", "regressors")
PUBLISHED = {
    "ASP-POTASSCO": (0.70, 0.57, 0.83, 0.35, 0.68),
    "BNSL-2016": (0.81, 0.82, 0.76, 0.17, 0.82),
    "CPMP-2015": (0.19, 0.15, 0.01, 0.02, 0.12),
    "CSP-2010": (0.76, 0.76, 0.66, 0.63, 0.64),
    "CSP-Minizinc-Time-2016": (0.54, 0.60, 0.48, 0.30, 0.49),
    "MAXSAT-PMS-2016": (0.59, 0.41, 0.51, 0.08, 0.35),
    "MAXSAT-WPMS-2016": (0.63, 0.57, 0.76, 0.24, 0.61),
    "MAXSAT12-PMS": (0.73, 0.76, 0.72, 0.51, 0.74),
    "MAXSAT15-PMS-INDU": (0.61, 0.60, 0.76, -0.01, 0.58),
    "MIP-2016": (0.04, -8.04, -7.86, 0.22, -9.05),
    "QBF-2011": (0.81, 0.85, 0.78, 0.67, 0.80),
    "QBF-2014": (0.70, 0.65, 0.61, 0.48, 0.67),
    "QBF-2016": (0.53, 0.38, 0.49, 0.42, 0.39),
    "SAT11-HAND": (0.64, 0.56, 0.44, 0.37, 0.55),
    "SAT11-INDU": (0.34, 0.21, 0.23, 0.05, 0.39),
    "SAT11-RAND": (0.92, 0.64, 0.87, 0.42, 0.89),
    "SAT12-HAND": (0.66, 0.72, 0.58, 0.37, 0.67),
    "SAT12-INDU": (0.27, 0.36, 0.19, 0.07, 0.22),
    "SAT15-INDU": (0.21, 0.27, -0.01, 0.25, 0.28),
}
SMALL = {"n_estimators": 50, "min_samples_leaf": 2, "max_features": 1 / 3, "random_state": 0}
SINGLE, VIRTUAL = "single best", "virtual best"


def selector(kind: str) -> og.AlgorithmSelector:
    """Return a selector; of kinds with one regressor per algorithm, with small forests."""
    if kind in ("difficulty", "performance"):
        return og.AlgorithmSelector(kind, regressor=RandomForestRegressor(**SMALL))
    return og.AlgorithmSelector(kind)


def by_fold(achieved: pd.DataFrame, folds: pd.Series, kind: str) -> float:
    """Mean over folds of the closed gap, without problems that nobody solved, as published."""
    sums = achieved[achieved[VIRTUAL] < achieved[VIRTUAL].max()].groupby(folds).sum()
    spans = sums[SINGLE] - sums[VIRTUAL]
    return float(((sums[SINGLE] - sums[kind]) / spans)[spans > 0].mean())


def row_of(name: str, size: str, found: dict[str, Any], seconds: float) -> list[str]:
    """Return one scenario: closed gaps of each kind, and those that were published."""
    cells = [name, "development" if name in DEVELOPMENT else "test", size]
    for kind, each in found.items():
        told = each.to_frame().loc[kind]
        cells.append(f"{told['closed_gap']:.2f} ± {1.96 * told['closed_gap_se']:.2f}")
        if kind == "auto":
            cells.append(f"{by_fold(each.achieved, each.folds, kind):.2f}")
    published = PUBLISHED.get(name)
    cells += ["–"] * len(METHODS) if published is None else [f"{each:.2f}" for each in published]
    return [*cells, f"{seconds:.0f}"]


def summary(kind: str, gaps: list[tuple[float, float]]) -> str:
    """Return mean and median over scenarios, and how often it is surely below the single best."""
    values, errors = np.array(gaps).T
    below = int((values + 1.96 * errors < 0).sum())
    return (
        f"{kind}: mean {values.mean():.2f}, median {np.median(values):.2f} of {len(values)} "
        f"scenarios; below the single best by more than noise on {below}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=SHARED / "data" / "aslib")
    parser.add_argument("scenarios", nargs="*")
    parser.add_argument("--kinds", default="auto")
    given = parser.parse_args()
    kinds = given.kinds.split(",")
    names = given.scenarios or [name for name in PUBLISHED if (given.folder / name).is_dir()]
    print(f"\n## Algorithm selection\n\n{machine()}.\n")
    columns = [name for kind in kinds for name in ([kind, "by fold"] if kind == "auto" else [kind])]
    header = ["scenario", "used for", "size", *columns, *METHODS, "CPU s of the first kind"]
    print("|", " | ".join(header), "|\n|" + "---|" * len(header))
    gaps: dict[str, list[tuple[float, float]]] = {kind: [] for kind in kinds}
    for name in names:
        scenario = og.read_aslib(given.folder / name)
        found, seconds = {}, []
        for kind in kinds:
            begin = process_time()
            found[kind] = og.evaluate_selectors(scenario, selectors={kind: selector(kind)})
            seconds.append(process_time() - begin)
            told = found[kind].to_frame().loc[kind]
            if name not in DEVELOPMENT:
                gaps[kind].append((told["closed_gap"], told["closed_gap_se"]))
        size = "{} × {}".format(*scenario.performance.shape)
        print("|", " | ".join(row_of(name, size, found, seconds[0])), "|", flush=True)
    print()
    for kind, each in gaps.items():
        if each:
            print(f"Test scenarios, {summary(kind, each)}.")


if __name__ == "__main__":
    main()
