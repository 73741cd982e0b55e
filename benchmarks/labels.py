"""How well label_trouble finds wrong labels that were planted in three data sets.

python benchmarks/labels.py [folder for the responses of the pool]
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial

import numpy as np

import ogive as og
from common import machine, print_table, seconds

DATASETS = ("digits", "breast_cancer", "wine")
POOL = "random-200"
CHANGED = 0.05
TABLES = 40  # repetitions per data set
RANKINGS = ("evidence", "accuracy", "probability_negative")
HEADER = ("data set", "items", "pool, s", "labels changed")
FOUND = (
    "suspects that were changed",
    "changed labels that are suspects",
    "distinct items among the other suspects",
)


def changed(truth: np.ndarray, n_classes: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Change some labels; return all labels, and which were changed."""
    random = np.random.default_rng(seed)
    bad = np.zeros(len(truth), dtype=bool)
    bad[random.choice(len(truth), round(CHANGED * len(truth)), replace=False)] = True
    moved = (truth + random.integers(1, n_classes, len(truth))) % n_classes
    return np.where(bad, moved, truth), bad


def found(responses: og.Responses, bad: np.ndarray) -> tuple[list[float], np.ndarray]:
    """Return the average precision of each ranking, and which items are suspects."""
    from sklearn.metrics import average_precision_score

    trouble = og.label_trouble(og.calibrate(responses, "2pl"))
    order = {item: place for place, item in enumerate(trouble.items)}
    places = np.array([order[item] for item in responses.items])
    scores = {
        "evidence": -places,
        "accuracy": -trouble.share_right[places],
        "probability_negative": np.nan_to_num(trouble.probability_negative[places]),
    }
    precisions = [float(average_precision_score(bad, scores[name])) for name in RANKINGS]
    return precisions, trouble.suspect[places]


def measure(name: str, folder: str | None) -> tuple[tuple[object, ...], np.ndarray, np.ndarray]:
    """Return a row of the table, the average precisions by repetition, and their sums."""
    split = og.split_dataset(og.load_dataset(f"sklearn:{name}"))
    answers = []
    ask = partial(og.run_pool, split, POOL, cv=0, n_jobs=2, folder=folder)
    took = seconds(lambda: answers.append(ask()))
    keys = [changed(split.y_test, len(split.classes), seed) for seed in range(TABLES)]
    results = [found(answers[0].responses(key), bad) for key, bad in keys]
    averages = np.array([precisions for precisions, _ in results])
    suspect, bad = np.array([s for _, s in results]), np.array([b for _, b in keys])
    falsely = (suspect & ~bad).any(axis=0).sum()
    sums = np.array([suspect.sum(), (suspect & bad).sum(), bad.sum(), falsely])
    label = (name, len(split.y_test), f"{took:.0f}", sums[2])
    return (*label, *in_words([averages], sums)), averages, sums


def in_words(averages: Sequence[np.ndarray], sums: np.ndarray) -> list[str]:
    """Return the mean over data sets with its standard error, and precision and recall."""
    means = np.mean([one.mean(axis=0) for one in averages], axis=0)
    variances = [one.var(axis=0, ddof=1) / len(one) for one in averages]
    errors = np.sqrt(np.sum(variances, axis=0)) / len(averages)
    ranked = [f"{m:.3f} ± {e:.3f}" for m, e in zip(means, errors, strict=True)]
    suspects, rightly, bad, falsely = sums
    precision = f"{rightly / max(suspects, 1):.0%} of {suspects}"
    return [*ranked, precision, f"{rightly / bad:.0%}", str(falsely)]


def main() -> None:
    folder = sys.argv[1] if len(sys.argv) > 1 else None
    print(f"\n## Labels\n\n{machine()}. {CHANGED:.0%} of the test labels changed, {TABLES} times.")
    rows, averages, sums = zip(*(measure(name, folder) for name in DATASETS), strict=True)
    changes = sum(s[2] for s in sums)
    print_table(
        f"Average precision of rankings, ± standard error over repetitions; suspects. Pool {POOL}",
        (*HEADER, *RANKINGS, *FOUND),
        [*rows, ("all", "", "", changes, *in_words(averages, np.sum(sums, axis=0)))],
    )


if __name__ == "__main__":
    main()
