"""Machine Learning Capability on pulsars: the published rule and the default over 100 seeds.

    python benchmarks/capability.py

Each seed draws a new sample, split, training and test, as a replication of the published study
would. Tests by information use the slope and the prior that were learned out of fold on the
training part. For comparison, the same tests are run with a prior that knows nothing about the
classifier, and with the prior alone. The target of a test is the midpoint fitted to all test cases:
the difficulty at which a logistic curve through all of them is one half.
"""

from __future__ import annotations

import argparse
import warnings
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from common import SHARED, machine, print_table
from ogive.capability.case_difficulty import CaseDifficulty
from ogive.capability.class_tests import Cases, SuccessCurve, learn_curve, prepare, run_class_tests
from ogive.capability.classifier import Classifier
from ogive.capability.measurement import measure_capability

NAMES = {1: "pulsar", 0: "non-pulsar"}
PUBLISHED_MLC = {"pulsar": 0.12, "non-pulsar": 0.32}
PUBLISHED_BELOW = {"pulsar": 0.947, "non-pulsar": 0.968}
PAPER = "published steps"
SAME = "information, same cases"
WIDE = "information, same cases, prior N(0, 1)"
OWN = "information, own stopping rule"
NONE = "prior alone, no case asked"
NEAR = {"mlc": 0.1, "below": 0.01}
NEVER = 1e-9  # a standard error that no test reaches


def balanced(frame: pd.DataFrame, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return all pulsars and as many others, with the four features of the integrated profile."""
    labels = frame.iloc[:, -1].to_numpy()
    pulsars = np.flatnonzero(labels == 1)
    others = np.random.default_rng(seed).choice(
        np.flatnonzero(labels == 0), len(pulsars), replace=False
    )
    rows = np.concatenate([pulsars, others])
    return frame.iloc[rows, :4].to_numpy(), labels[rows]


def network(seed: int) -> Any:
    layer = MLPClassifier((12,), learning_rate_init=0.02, max_iter=12, random_state=seed)
    return make_pipeline(StandardScaler(), layer)


def one_seed(frame: pd.DataFrame, seed: int) -> list[dict[str, Any]]:
    """Return one row per class and rule."""
    X, y = balanced(frame, seed)
    scale = CaseDifficulty(levels=4).fit(X, y)
    cases = Cases.of(scale, X, y)
    model = Classifier(network(seed), scale.classes_)
    ready = prepare(model, cases, curved=True, test_size=0.3, cv=3, seed=seed)
    predicted = ready.classifier.predict(ready.test.X)
    accuracy = float((predicted == ready.test.codes).mean())
    rows = []
    for code, name in NAMES.items():
        own = ready.test.codes == code
        difficulty, right = ready.test.difficulty[own], predicted[own] == code
        found = estimates(difficulty, right, ready.curves[code], seed)
        whole = learn_curve(difficulty, right).middle
        for rule, (mlc, used) in found.items():
            below = right[difficulty <= mlc]
            row = {"seed": seed, "class": name, "rule": rule, "mlc": mlc, "used": used}
            below_share = below.mean() if below.size else np.nan
            rows.append({**row, "accuracy": accuracy, "below": below_share, "whole": whole})
    return rows


def estimates(
    difficulty: np.ndarray, right: np.ndarray, curve: SuccessCurve, seed: int
) -> dict[str, tuple[float, int]]:
    """Return the limit and the number of cases of a single test by each rule."""

    def tested(**settings: Any) -> tuple[float, int]:
        found = run_class_tests(difficulty, right, n_resamples=1, random_state=seed, **settings)
        return float(found.estimates[0]), int(found.used[0])

    steps = tested(rule="steps")
    same = {"budget": steps[1], "max_se": NEVER}
    return {
        PAPER: steps,
        SAME: tested(curve=curve, **same),
        WIDE: tested(curve=SuccessCurve(curve.slope, 0.0, 1.0), **same),
        OWN: tested(curve=curve),
        NONE: (curve.middle, 0),
    }


def print_limits(found: pd.DataFrame) -> None:
    rows = []
    for name in NAMES.values():
        paper = found[(found["class"] == name) & (found["rule"] == PAPER)]["mlc"].std(ddof=1)
        for rule in (PAPER, SAME, WIDE, OWN, NONE):
            part = found[(found["class"] == name) & (found["rule"] == rule)]
            low, high = np.percentile(part["mlc"], [5, 95])
            spread = part["mlc"].std(ddof=1)
            miss = np.sqrt(((part["mlc"] - part["whole"]) ** 2).mean())
            rows.append(
                [
                    name,
                    rule,
                    f"{part['used'].mean():.1f} ({part['used'].max()})",
                    f"{part['mlc'].mean():.2f}",
                    f"{spread:.3f}",
                    f"{spread / paper:.2f}",
                    f"{low:.2f} to {high:.2f}",
                    f"{miss:.2f}",
                ]
            )
    header = [
        "class",
        "rule",
        "cases (maximum)",
        "mean MLC",
        "standard deviation",
        "relative to published",
    ]
    header += ["5 % to 95 %", "RMS distance from the midpoint fitted to all test cases"]
    print_table("Limits (MLC) of single tests over the seeds", header, rows)


def print_published(found: pd.DataFrame) -> None:
    rows = []
    for name in NAMES.values():
        for rule in (PAPER, SAME):
            part = found[(found["class"] == name) & (found["rule"] == rule)]
            for what, column, figure in (
                ("MLC", "mlc", PUBLISHED_MLC[name]),
                ("accuracy below the limit", "below", PUBLISHED_BELOW[name]),
            ):
                values = part[column].dropna()
                low, middle, high = np.percentile(values, [5, 50, 95])
                rank = (values < figure).mean()
                typical = "yes" if low <= figure <= high else "no"
                span = f"{low:.3f}, {middle:.3f}, {high:.3f}"
                near = (np.abs(values - figure) <= NEAR[column]).mean()
                rows.append([name, rule, what, figure, span, f"{rank:.0%}", f"{near:.0%}", typical])
    header = ["class", "rule", "figure", "published", "5 %, 50 %, 95 % of the seeds"]
    header += ["seeds below the published figure", "seeds near it (within 0.1; one point)"]
    header += ["within 5 % to 95 %"]
    print_table("The published figures compared with the seeds", header, rows)


def print_cases(found: pd.DataFrame, n_cases: int) -> None:
    rows = []
    for rule in (PAPER, SAME, OWN):
        part = found[found["rule"] == rule]
        both = part.groupby("seed")["used"].sum()
        each = part["used"]
        rows.append(
            [
                rule,
                f"{each.mean():.1f} ({each.max()})",
                f"{each.max() / n_cases:.2%}",
                f"{both.mean():.1f} ({both.max()})",
                f"{(both < n_cases / 100).mean():.0%}",
            ]
        )
    header = [
        "rule",
        "cases per class (maximum)",
        "maximum, share of all cases",
        "cases of both classes (maximum)",
    ]
    header += ["seeds in which both take less than 1 %"]
    print_table(f"Cases asked, of {n_cases:,}", header, rows)


def print_times(frame: pd.DataFrame) -> None:
    X, y = balanced(frame, 0)
    found = measure_capability(network(0), X, y, rule=["steps", "information"], cv=3)
    rows = [
        [
            f"test by {row['rule']}, {NAMES[label]}",
            f"{row['cases_used']:.1f}",
            f"{row['seconds']:.3f}",
        ]
        for label, row in found.classes.iterrows()
    ]
    metrics = found.metrics.iloc[0]
    rows.append(["all classic metrics", f"{metrics['cases']:.0f}", f"{metrics['seconds']:.3f}"])
    print_table("Time: cases asked one by one, and all at once", ["what", "cases", "s"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=100)
    seeds = parser.parse_args().seeds
    warnings.simplefilter("ignore", ConvergenceWarning)  # training is short on purpose
    frame = pd.read_csv(SHARED / "data" / "tabular" / "htru2.csv.gz")
    begin = perf_counter()
    found = pd.DataFrame([row for seed in range(seeds) for row in one_seed(frame, seed)])
    n_cases = 2 * int(frame.iloc[:, -1].sum())
    accuracy = found.groupby("seed")["accuracy"].first()
    print(f"{machine()}; {seeds} seeds in {perf_counter() - begin:.0f} s")
    print(
        f"Accuracy of the network on the test part: {accuracy.mean():.3f}, from "
        f"{accuracy.min():.3f} to {accuracy.max():.3f} (published: 0.92)"
    )
    print_limits(found)
    print_published(found)
    print_cases(found, n_cases)
    print_times(frame)


if __name__ == "__main__":
    main()
