"""Labels that people checked: what label_trouble and cleanlab say of them.

git clone https://github.com/cleanlab/label-errors
python benchmarks/verified_labels.py label-errors

Northcutt, Athalye and Mueller (2021) had test labels checked by five people each. Labels were
chosen for that by confident learning, so that only these can be compared: how many others are wrong
is not known. As there, a label is wrong if fewer than three chose it; "another class" is stricter:
three or more also chose the class that was proposed instead. The probabilities are those of one
model, out of fold, as published.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

import ogive as og
from common import machine, print_table

SETS = ("mnist", "cifar10", "20news", "imdb")
ENOUGH = 3  # of five people


def read(folder: Path, name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[Any]]:
    """Return probabilities, labels, rows that were checked, and the votes on them."""
    scores = np.load(folder / f"cross_validated_predicted_probabilities/{name}_test_set_pyx.npy")
    labels = np.load(folder / f"original_test_labels/{name}_test_set_original_labels.npy")
    checked = json.loads((folder / f"mturk/{name}_mturk.json").read_text())
    rows = [each["id"] for each in checked]
    if name == "imdb":
        path = folder / "dataset_indexing/imdb_test_set_index_to_filename.json"
        places = {file: k for k, file in enumerate(json.loads(path.read_text()))}
        rows = [places[f"{row.removeprefix('test/')}.txt"] for row in rows]
    clipped = scores.astype(float).clip(0, 1)  # they were rounded to half precision
    scores = clipped / clipped.sum(axis=1, keepdims=True)
    return scores, labels.astype(int), np.array(rows), [each["mturk"] for each in checked]


def rankings(scores: np.ndarray, labels: np.ndarray) -> dict[str, np.ndarray]:
    """Return one number per label, larger where it is more likely wrong."""
    frame = og.label_trouble(scores=scores, labels=labels).to_frame()
    found = {"ogive": frame["evidence"][[f"row_{k}" for k in range(len(labels))]].to_numpy()}
    try:
        from cleanlab.rank import get_label_quality_scores as quality
    except ImportError:
        print("\ncleanlab is not installed, so it is left out.")
        return found
    for method in ("self_confidence", "normalized_margin"):
        found[f"cleanlab, {method}"] = -quality(labels, scores, method=method)
    return found


def compare(folder: Path, name: str) -> tuple[list[tuple[object, ...]], tuple[object, ...]]:
    """Return average precision of each ranking, and what the suspects are."""
    from sklearn.metrics import average_precision_score

    scores, labels, rows, votes = read(folder, name)
    wrong = np.array([each["given"] < ENOUGH for each in votes])
    other = wrong & np.array([each["guessed"] >= ENOUGH for each in votes])
    ranked = [
        (
            *(name, ranking),
            f"{average_precision_score(wrong, found[rows]):.3f}",
            f"{average_precision_score(other, found[rows]):.3f}",
        )
        for ranking, found in rankings(scores, labels).items()
    ]
    begin = process_time()
    trouble = og.label_trouble(scores=scores, labels=labels)
    took = process_time() - begin
    frame = trouble.to_frame().loc[[f"row_{k}" for k in range(len(labels))]]
    suspect = frame["suspect"].to_numpy()
    seen = suspect[rows]
    shares = [f"{each[seen].mean():.2f}" if seen.any() else "" for each in (wrong, other)]
    mean = f"{frame['evidence'].to_numpy()[rows][seen].mean():.2f}" if seen.any() else ""
    counts = (f"{len(labels):,}", len(rows), int(wrong.sum()), int(other.sum()))
    return ranked, (
        name,
        *counts,
        int(suspect.sum()),
        int(seen.sum()),
        mean,
        *shares,
        f"{took:.2f}",
    )


def main() -> None:
    if len(sys.argv) < 2:
        print("\nVerified labels need the folder of cleanlab/label-errors, so they are left out.")
        return
    print(f"\n## Verified labels\n\n{machine()}. Checked labels of four public test sets.")
    found = [compare(Path(sys.argv[1]), name) for name in SETS]
    print_table(
        "Average precision among the labels that were checked",
        ("set", "ranking", "wrong labels", "another class"),
        [row for ranked, _ in found for row in ranked],
    )
    print_table(
        "Suspects",
        (
            *("set", "labels", "checked", "wrong", "another class", "suspects", "of them checked"),
            *("mean evidence", "wrong among these", "another class among these", "s"),
        ),
        [row for _, row in found],
    )


if __name__ == "__main__":
    main()
