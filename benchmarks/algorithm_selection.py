"""What choosing an algorithm by features is worth on ASlib scenarios.

python benchmarks/algorithm_selection.py [SCENARIO ...]

Each scenario under $ITEMWISE_SHARED is used with its own ten folds. Unsuccessful runs count as ten
times the cut-off (PAR10). The forests are smaller than the preset's, so everything takes minutes.
"""

from __future__ import annotations

import sys
from time import perf_counter

from sklearn.ensemble import RandomForestRegressor

import itemwise as iw
from common import SHARED, machine, print_table
from itemwise.studies import SelectorEvaluation

SCENARIOS = (
    "ASP-POTASSCO",
    "BNSL-2016",
    "GRAPHS-2015",
    "CSP-Minizinc-Time-2016",
    "OPENML-WEKA-2017",
)
TREES = 10
SMALL = 3  # algorithms to choose from
HEADER = ("scenario", "selector", "mean", "± 1.96 se", "closed gap", "± 1.96 se", "solved", "uses")


def main(names: list[str]) -> None:
    forest = RandomForestRegressor(TREES, max_features=1 / 3, random_state=0)
    selectors = {
        "by difficulty": iw.AlgorithmSelector(regressor=forest),
        f"by difficulty, {SMALL} algorithms": iw.AlgorithmSelector(
            regressor=forest, portfolio_size=SMALL
        ),
        "by performance": iw.AlgorithmSelector("performance", regressor=forest),
    }
    print(f"\n## Algorithm selection\n\n{machine()}. Forests of {TREES} trees.\n")
    rows: list[tuple[object, ...]] = []
    for name in names:
        begin = perf_counter()
        scenario = iw.read_aslib(SHARED / "data" / "aslib" / name)
        found = iw.evaluate_selectors(scenario, selectors=selectors, n_jobs=2)
        print(f"- {name} ({perf_counter() - begin:.0f} s): {found.meaning}")
        print(f"  {_more(found)}")
        rows += _rows(name, found)
    print_table("Mean PAR10 (accuracy for OPENML-WEKA-2017) and closed gap", HEADER, rows)


def _more(found: SelectorEvaluation) -> str:
    """Compare selection by performance with selection by difficulty, and say what limits both."""
    gap, error = found.difference("by performance", "by difficulty")
    unsolved = [note for note in found.notes if "no algorithm solves" in note]
    more = f"By performance closes {gap:+.2f} ± {1.96 * error:.2f} more than by difficulty."
    return " ".join([more, *unsolved])


def _rows(name: str, found: SelectorEvaluation) -> list[tuple[object, ...]]:
    frame = found.to_frame()
    return [
        (
            name,
            selector,
            f"{row['performance']:,.4g}",
            f"{1.96 * row['performance_se']:,.3g}",
            f"{row['closed_gap']:.2f}",
            f"{1.96 * row['closed_gap_se']:.2f}",
            f"{row['solved']:.1%}" if "solved" in frame else "–",
            "–" if selector == "virtual best" else row["algorithms"],
        )
        for selector, row in frame.iterrows()
    ]


if __name__ == "__main__":
    main(sys.argv[1:] or list(SCENARIOS))
