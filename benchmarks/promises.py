"""Promises of short forms and adaptive tests, and what was found: random models, strong, weak.

    python benchmarks/promises.py [ARC] [MMLU] [WinoGrande] [HELM-lite] [5] [10] [25] [50] [all]

Each board is split three ways: a random fifth of the models is new, the tenth with the highest
accuracy, or the tenth with the lowest; everything is learned from the rest. Models with identical
responses stay on one side of random splits. A promise is what the result itself says before it sees
a new model: its error in cross-validation, and intervals that hold 90 %. At most 1,500 models per
board are used, unless `all` is given.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import itemwise as iw
from common import SHARED, machine, print_table
from itemwise.responses.study_tables import copies, grouped_folds

FILES = {
    "ARC": "metabench_arc_2pl",
    "MMLU": "metabench_mmlu_3pl",
    "WinoGrande": "metabench_winogrande",
    "HELM-lite": "helm_lite_binary",
}
CONFIDENCE = 0.9
MOST = 1500
DRAWS = 100
Floats = NDArray[np.float64]


def board(name: str, most: int | None) -> iw.Responses:
    path = SHARED / "data" / "llm" / f"{FILES[name]}_responses.csv.gz"
    if name == "HELM-lite":
        frame = pd.read_csv(path)
        names = frame["scenario"] + " " + frame["item"].astype(str)
        table = iw.Responses.from_frame(frame.iloc[:, 2:].set_axis(names).T)
        return table.select(items=np.arange(0, table.n_items, 10))
    table = iw.read_responses(path)
    rows = np.random.default_rng(0).permutation(table.n_respondents)[:most]
    return table.select(respondents=np.sort(rows))


def accuracy(table: iw.Responses) -> Floats:
    found: Floats = table.to_frame().mean(axis=1).to_numpy()
    return found


def splits(table: iw.Responses) -> Iterator[tuple[str, iw.Responses, iw.Responses]]:
    score = accuracy(table)
    order, tenth = np.argsort(score, kind="stable"), max(1, len(score) // 10)
    fold = grouped_folds(copies(table), 5, 0)
    for name, new in (
        ("random fifth", np.flatnonzero(fold == 0)),
        ("strongest tenth", order[-tenth:]),
        ("weakest tenth", order[:tenth]),
    ):
        known = np.setdiff1d(order, new)
        yield name, table.select(respondents=known), table.select(respondents=new)


def plain(new: iw.Responses, size: int) -> float:
    """Return the error of the plain mean of random items."""
    random, truth = np.random.default_rng(0), accuracy(new)
    draws = [random.choice(new.n_items, size, replace=False) for _ in range(DRAWS)]
    cells = new.to_frame().to_numpy()
    return float(np.mean([np.abs(cells[:, d].mean(axis=1) - truth).mean() for d in draws]))


def shortened(known: iw.Responses, new: iw.Responses, size: int) -> list[str]:
    found = iw.shorten(known, size, confidence=CONFIDENCE, progress=False)
    told, truth = found.predict(new), accuracy(new)
    low, high = told["accuracy_low"].to_numpy(), told["accuracy_high"].to_numpy()
    return row(found.error["mae"][0], told["accuracy"].to_numpy(), truth, low, high)


def adaptive(known: iw.Responses, new: iw.Responses, size: int) -> list[str]:
    options = {"sizes": [size], "confidence": CONFIDENCE, "progress": False}
    own = iw.replay_adaptively(known, cv=3, **options)
    told = iw.replay_adaptively(own.bank, new, **options).predictions
    mine = told[told["method"] == "adaptive"]
    value, se, truth = (mine[c].to_numpy() for c in ("accuracy", "accuracy_se", "truth"))
    reach = [
        own.real_error.reaches(size, *pair, CONFIDENCE) for pair in zip(value, se, strict=True)
    ]
    down, up = np.array(reach).T
    return row(own.errors["mae"][0], value, truth, value - down, value + up)


def row(promised: float, value: Floats, truth: Floats, low: Floats, high: Floats) -> list[str]:
    off, tiny = value - truth, 1e-9
    held = ((truth >= low - tiny) & (truth <= high + tiny)).mean()
    width = (np.minimum(high, 1) - np.maximum(low, 0)).mean()
    figures = [promised, np.abs(off).mean()]
    return [*(f"{x:.4f}" for x in figures), f"{off.mean():+.4f}", f"{held:.0%}", f"{width:.3f}"]


def main() -> None:
    words = sys.argv[1:]
    names = [word for word in words if word in FILES] or list(FILES)
    sizes = [int(word) for word in words if word.isdigit()] or [25]
    print(f"\n## Promises\n\n{machine()}.")
    rows: list[list[object]] = []
    for name in names:
        table = board(name, None if "all" in words else MOST)
        for split, known, new in splits(table):
            for size in sizes:
                lot = f"{plain(new, size):.4f}"
                for way, found in (("`shorten`", shortened), ("adaptive", adaptive)):
                    figures = found(known, new, size)
                    rows.append([name, size, split, way, *figures, lot])
                    print(*rows[-1], file=sys.stderr)
    head = ["board", "items", "new models", "method", "promised error", "error", "bias"]
    head += ["held by 90 % intervals", "width", "error of random items"]
    print_table("Learned from the rest, tested on new models", head, rows)


if __name__ == "__main__":
    main()
