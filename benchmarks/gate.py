"""Whether the accuracy guarantee of the gate holds, and how many cases it leaves to the model.

HTRU2 is a balanced sample with the four features of the integrated profile; half of it is for the
gate and half evaluates it. Of scikit-learn's breast cancer data, seven tenths are for the gate.
Each of 100 seeds draws a new sample, split and training; the gate holds out half of its cases. The
target holds in a seed if the accuracy on accepted unseen cases is at least the target. Seeds in
which nothing is accepted are counted separately.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd

import itemwise as iw
from common import SHARED, machine, print_table
from itemwise.capability.gate_comparison import OWN

SEEDS = int(sys.argv[1]) if len(sys.argv) > 1 else 100


def pulsars(seed: int, table: pd.DataFrame) -> Iterator[Any]:
    draw = np.random.default_rng(seed)
    member = table["class"].to_numpy() == 1
    others = draw.choice(np.flatnonzero(~member), member.sum(), replace=False)
    order = draw.permutation(np.concatenate([np.flatnonzero(member), others]))
    rows = table.iloc[order].reset_index(drop=True)
    return parts(rows.iloc[:, :4], rows["class"].to_numpy(), 0.5)


def tumours(seed: int, table: pd.DataFrame) -> Iterator[Any]:
    rows = table.sample(frac=1.0, random_state=seed).reset_index(drop=True)
    return parts(rows.drop(columns="target"), rows["target"].to_numpy(), 0.7)


def parts(X: pd.DataFrame, y: Any, share: float) -> Any:
    place = int(share * len(y))
    return X[:place], y[:place], X[place:], y[place:]


def measured(data: Any, target: float, seed: int, test_size: float) -> pd.DataFrame:
    X, y, new_X, new_y = data
    gate = iw.CapabilityGate(target_accuracy=target, test_size=test_size, random_state=seed)
    frame = gate.fit(X, y).compare(new_X, new_y).to_frame()
    everything = float(np.mean(gate.predict(new_X) == new_y))
    return frame.assign(seed=seed, all_cases=everything)


def lines(name: str, target: float, found: pd.DataFrame) -> list[list[str]]:
    rows = []
    for (method, at), part in found.groupby(["method", "at"], sort=False):
        none = part["accepted"] == 0
        kept = int((part["accuracy"] >= target).sum())
        rows.append(
            [
                name,
                f"{target:.0%}",
                str(method),
                str(at),
                f"{kept} of {len(part) - none.sum()}",
                str(int(none.sum())),
                f"{part['coverage'].mean():.3f}",
                f"{part['accuracy'].mean():.4f}",
                f"{part['all_cases'].mean():.4f}",
            ]
        )
    return rows


def main() -> None:
    from sklearn.datasets import load_breast_cancer

    htru2 = pd.read_csv(SHARED / "data" / "tabular" / "htru2.csv.gz")
    cancer = load_breast_cancer(as_frame=True).frame
    sets = {
        "HTRU2": (pulsars, htru2, (0.97,), 0.5),
        "breast cancer": (tumours, cancer, (0.97,), 0.5),
    }
    begin, rows = perf_counter(), []
    for name, (draw, table, targets, test_size) in sets.items():
        for target in targets:
            found = [measured(draw(seed, table), target, seed, test_size) for seed in range(SEEDS)]
            rows += lines(name, target, pd.concat(found))
    header = [
        "data",
        "target",
        "method",
        "at",
        "seeds in which it holds",
        "seeds that accept nothing",
        "coverage",
        "accuracy",
        "accuracy on all cases",
    ]
    print(f"{machine()}; {SEEDS} seeds in {perf_counter() - begin:.0f} s")
    print_table("Target accuracy, on new cases", header, rows)
    print(
        f"\nAt {OWN}, the gate and the threshold on probability guarantee the target with "
        "probability 0.95, for cases from the same source; conformal selection guarantees it on "
        "average. The share measured on a few hundred new cases varies around that."
    )


if __name__ == "__main__":
    main()
