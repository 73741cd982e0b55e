"""Short benchmarks: the full accuracy of unseen language models, from 5 to 50 items.

    python benchmarks/short_benchmarks.py [arc] [mmlu] [5] [10] [25] [50]

Models are split once, 80 % for training and 20 % for testing; models with identical responses stay
together. All methods see the same models. Anchor points are reimplemented from tinyBenchmarks:
k-means of items by their responses, weighted by cluster; gp-IRT mixes that with the completed
score of a 2PL. Standard errors are over models, with identical models counted as one, and for
random items over draws. `shorten` chooses items by information, and chooses its predictor on the
training models only. Its constants were set while looking at other splits of the same tables.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

import ogive as og
from common import SHARED, machine, print_table
from ogive.data.study_tables import copies, grouped_folds
from ogive.evaluation.item_choice import CHOOSERS, Candidates
from ogive.evaluation.score_prediction import PREDICTORS, full_cells, known_of
from ogive.stats.metrics import prediction_error

FILES = {"arc": "metabench_arc_2pl", "mmlu": "metabench_mmlu_3pl"}
SIZES = (5, 10, 25, 50)
DRAWS = 100
ROWS = {
    "stratified by difficulty": ("stratified", "mean"),
    "anchor points, weighted mean": ("anchors", "mean"),
    "anchor points, gp-IRT": ("anchors", "blend"),
    "anchor points by item parameters, gp-IRT": ("irt_anchors", "blend"),
    "information, completed by the 2PL": ("information", "irt"),
}
Floats = NDArray[np.float64]


def by_lot(truth: Floats, cells: Floats, size: int) -> tuple[float, float]:
    """Return the error of plain accuracy on random items: mean over draws, and its spread."""
    random = np.random.default_rng(0)
    draws = [random.choice(cells.shape[1], size, replace=False) for _ in range(DRAWS)]
    errors = [np.abs(cells[:, items].mean(axis=1) - truth).mean() for items in draws]
    return float(np.mean(errors)), float(np.std(errors) / np.sqrt(DRAWS))


def error(predicted: Any, judged: og.Responses) -> tuple[float, float]:
    """Return the mean absolute error and its standard error."""
    found = prediction_error(np.asarray(predicted), judged.values.mean(axis=1), copies(judged))
    return found["mae"], found["mae_se"]


def by_parts(
    candidates: Candidates, learned: og.Responses, judged: og.Responses, size: int
) -> dict[str, tuple[float, float]]:
    """Evaluate every way of choosing with one predictor, trained without the test models."""
    score = learned.values.mean(axis=1)
    found = {}
    for title, (method, name) in ROWS.items():
        choice = CHOOSERS[method](candidates, size, np.random.default_rng(0))
        items = [learned.items[k] for k in choice.places]
        sides = [table.select(items=items) for table in (learned, judged)]
        known, asked = (known_of(candidates.bank, side, choice.weights)[0] for side in sides)
        predictor = PREDICTORS[name]
        found[title] = error(predictor.predict(predictor.fit(known, score), asked), judged)
    return found


def by_replay(
    learned: og.Responses, judged: og.Responses, sizes: Sequence[int]
) -> dict[int, tuple[float, float]]:
    """Evaluate adaptively, with items chosen for each model, by number of items."""
    figures = og.replay_adaptively(og.calibrate(learned, "3pl"), judged, sizes=sizes).errors
    rows = figures[figures["method"] == "adaptive"]
    return {int(row["n_items"]): (row["mae"], row["mae_se"]) for _, row in rows.iterrows()}


def compare(name: str, sizes: Sequence[int]) -> None:
    table = og.read_responses(SHARED / "data" / "llm" / f"{FILES[name]}_responses.csv.gz")
    fold = grouped_folds(copies(table), 5, 0)
    learned, judged = (
        table.select(respondents=np.flatnonzero(rows)) for rows in (fold != 0, fold == 0)
    )
    bank = og.calibrate(learned, "2pl")
    candidates = Candidates(bank, full_cells(bank, learned))
    truth = judged.values.mean(axis=1)
    adaptive = by_replay(learned, judged, sizes)
    rows: dict[str, list[str]] = {}
    hold, spent, ratios = [], [], []
    for size in sizes:
        lot = by_lot(truth, judged.values, size)
        begin = perf_counter()
        short = og.shorten(learned, size, model="2pl", confidence=0.9)
        spent.append(f"{perf_counter() - begin:.0f} s")
        told = short.predict(judged)
        own = error(told["accuracy"], judged)
        figures = {
            "random, plain accuracy": lot,
            **by_parts(candidates, learned, judged, size),
            "adaptive": adaptive[size],
            "`shorten`": own,
        }
        for title, (mean, se) in figures.items():
            rows.setdefault(title, []).append(f"{mean:.4f} ± {se:.4f}")
        inside = (truth >= told["accuracy_low"]) & (truth <= told["accuracy_high"])
        hold.append(f"{inside.mean():.0%}")
        ratios.append(f"{own[0] / lot[0]:.2f}")
    rows["`shorten`, relative to random"] = ratios
    rows["`shorten`, coverage of 90 % intervals"] = hold
    rows["`shorten`, time with 5 folds"] = spent
    print_table(
        f"{name.upper()}, {table.n_items} items: mean absolute error of the full accuracy of "
        f"{judged.n_respondents:,} unseen models, learned from {learned.n_respondents:,}",
        ("", *(f"{size} items" for size in sizes)),
        [(title, *cells) for title, cells in rows.items()],
    )


def main() -> None:
    print(f"\n## Short benchmarks\n\n{machine()}. ± one standard error.")
    words = sys.argv[1:]
    sizes = [int(word) for word in words if word.isdigit()] or SIZES
    for name in [word for word in words if word in FILES] or FILES:
        compare(name, sizes)


if __name__ == "__main__":
    main()
