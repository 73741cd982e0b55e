"""Promises of short forms and adaptive tests, and what was found: random models, strong, weak.

    python benchmarks/promises.py [ARC] [MMLU] [WinoGrande] [HELM-lite] [5] [10] [25] [50] [all]
    python benchmarks/promises.py simulated

Each board is split three ways: a random fifth of the models is new (of HELM-lite's 30 models, each
fifth in turn), the tenth with the highest accuracy, or the tenth with the lowest; everything is
learned from the rest. Models with identical responses stay on one side of random splits. A promise
is what the result itself says before it sees a new model: its error in cross-validation, and
intervals that hold 90 %. The default is the way that `evaluate_adaptively` takes by itself. At most
1,500 models per board are used, unless `all` is given. `simulated` are twelve boards of 40 models
and 60 items by a 2PL, taken together.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import ogive as og
from common import SHARED, machine, print_table
from ogive.data.study_tables import copies, grouped_folds
from ogive.evaluation.replay_predictions import forecast, reached
from ogive.irt.adaptive.rules import Budget
from ogive.irt.adaptive.simulation import asked_of_recorded

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
Split = tuple[og.Responses, og.Responses]  # known models, new ones


class Found(NamedTuple):
    """What one way says of new models."""

    promised: float
    numbers: Floats  # (4, n_new): predicted, low, high, true
    default: str  # the way that is taken by itself, where both were tried


def board(name: str, most: int | None) -> og.Responses:
    path = SHARED / "data" / "llm" / f"{FILES[name]}_responses.csv.gz"
    if name == "HELM-lite":
        frame = pd.read_csv(path)
        names = frame["scenario"] + " " + frame["item"].astype(str)
        table = og.Responses.from_frame(frame.iloc[:, 2:].set_axis(names).T)
        return table.select(items=np.arange(0, table.n_items, 10))
    table = og.read_responses(path)
    rows = np.random.default_rng(0).permutation(table.n_respondents)[:most]
    return table.select(respondents=np.sort(rows))


def simulated(seed: int, n: int = 40, n_items: int = 60) -> og.Responses:
    random = np.random.default_rng(seed)
    ability = random.normal(size=(n, 2))[:, :1]
    difficulty = random.normal(0, 1.3, n_items)
    slope = np.exp(random.normal(0.2, 0.3, n_items))
    chance = 1 / (1 + np.exp(-slope * (ability - difficulty)))
    return og.Responses((random.random((n, n_items)) < chance).astype(int))


def gathered(name: str, most: int | None) -> dict[str, list[Split]]:
    """Return known and new models of each split, of one board or of all that are simulated."""
    boards = [board(name, most)] if name in FILES else [simulated(seed) for seed in range(12)]
    found: dict[str, list[Split]] = {}
    for table in boards:
        for title, parts in splits(name, table):
            found.setdefault(title, []).extend(parts)
    return found


def accuracy(table: og.Responses) -> Floats:
    found: Floats = table.to_frame().mean(axis=1).to_numpy()
    return found


def splits(name: str, table: og.Responses) -> Iterator[tuple[str, list[Split]]]:
    score = accuracy(table)
    order, tenth = np.argsort(score, kind="stable"), max(1, len(score) // 10)
    fold = grouped_folds(copies(table), 5, 0)
    fifths = [np.flatnonzero(fold == k) for k in range(5 if name == "HELM-lite" else 1)]
    for title, parts in (
        ("random fifth", fifths),
        ("strongest tenth", [order[-tenth:]]),
        ("weakest tenth", [order[:tenth]]),
    ):
        yield (
            title,
            [
                (table.select(respondents=np.setdiff1d(order, new)), table.select(respondents=new))
                for new in parts
            ],
        )


def plain(new: og.Responses, size: int) -> float:
    """Return the error of the plain mean of random items."""
    random, truth = np.random.default_rng(0), accuracy(new)
    draws = [random.choice(new.n_items, size, replace=False) for _ in range(DRAWS)]
    cells = new.to_frame().to_numpy()
    return float(np.mean([np.abs(cells[:, d].mean(axis=1) - truth).mean() for d in draws]))


def shortened(known: og.Responses, new: og.Responses, size: int) -> Found:
    found = og.shorten(known, size, confidence=CONFIDENCE, progress=False)
    told = found.predict(new)
    ends = [told[f"accuracy{end}"].to_numpy() for end in ("", "_low", "_high")]
    return Found(found.error["mae"][0], np.stack([*ends, accuracy(new)]), "")


def adaptive(known: og.Responses, new: og.Responses, size: int) -> Found:
    options = {"sizes": [size], "confidence": CONFIDENCE, "progress": False}
    own = og.replay_adaptively(known, cv=3, **options)
    test = og.AdaptiveTest(own.bank, selector="score", stopper=Budget(size))
    asked = asked_of_recorded(test, new, size)
    cells = np.full(new.shape, np.nan)
    np.put_along_axis(cells, asked, np.take_along_axis(new.values, asked, axis=1), axis=1)
    seen = og.Responses(cells, items=new.items, kind=new.kind)
    told = forecast(own.bank, own.real_error.range_of(new.items), seen, CONFIDENCE)
    down, up = reached(own.real_error, np.full(len(cells), size), told, CONFIDENCE)
    value = told.accuracy
    numbers = np.stack([value, value - down, value + up, accuracy(new)])
    return Found(own.errors["mae"][0], numbers, "`shorten`" if own.real_error.forms else "adaptive")


def row(found: list[Found]) -> list[str]:
    value, low, high, truth = np.concatenate([each.numbers for each in found], axis=1)
    off, tiny = value - truth, 1e-9
    held = ((truth >= low - tiny) & (truth <= high + tiny)).mean()
    width = (np.minimum(high, 1) - np.maximum(low, 0)).mean()
    figures = [np.mean([each.promised for each in found]), np.abs(off).mean()]
    return [*(f"{x:.4f}" for x in figures), f"{off.mean():+.4f}", f"{held:.0%}", f"{width:.3f}"]


def main() -> None:
    words = sys.argv[1:]
    names = [word for word in words if word in (*FILES, "simulated")] or list(FILES)
    sizes = [int(word) for word in words if word.isdigit()] or [25]
    print(f"\n## Promises\n\n{machine()}.")
    rows: list[list[object]] = []
    for name in names:
        for split, parts in gathered(name, None if "all" in words else MOST).items():
            for size in sizes:
                lot = f"{np.mean([plain(new, size) for _, new in parts]):.4f}"
                tests = [adaptive(*part, size) for part in parts]
                forms = [shortened(*part, size) for part in parts]
                for way, found in (("`shorten`", forms), ("adaptive", tests)):
                    chosen = sum(each.default == way for each in tests)
                    mark = "yes" if chosen == len(tests) else f"{chosen} of {len(tests)}"
                    rows.append([name, size, split, way, mark if chosen else "", *row(found), lot])
                    print(*rows[-1], file=sys.stderr)
    head = ["board", "items", "new models", "method", "default", "promised error", "error", "bias"]
    head += ["held by 90 % intervals", "width", "error of random items"]
    print_table("Learned from the rest, tested on new models", head, rows)


if __name__ == "__main__":
    main()
