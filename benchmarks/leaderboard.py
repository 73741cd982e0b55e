"""Leaderboards: how long one takes, and whether its tests and intervals have their stated rates.

python benchmarks/leaderboard.py [boards per design, 500 by default [design ...]]
"""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit

import ogive as og
from common import SHARED, best_of, machine, print_table
from ogive.data.study_tables import DOCUMENT, TASK, groups_of
from ogive.evaluation.rankings import Board
from ogive.irt.models import AUTO
from ogive.irt.predicted_accuracy import ability_scale
from ogive.stats.pairwise_tests import rank_limits

BOARDS = 500
FOURS = tuple(
    np.repeat([0.0, 0.25, 0.5, 1.2], 3)
)  # abilities of twelve respondents, in groups of three
ONE_AHEAD = (0.5, *[0.0] * 11)
ALIKE = (0.0,) * 12
TASTE = 1.0  # standard deviation of the effect of an item or document on a single respondent
DESIGNS: dict[str, dict[str, Any]] = {
    "100 items": {"items": 100},
    "1,000 items": {"items": 1000},
    "1,000 items, one ahead of equals": {"items": 1000, "abilities": ONE_AHEAD},
    "1,000 items, all equal": {"items": 1000, "abilities": ALIKE},
    "1,000 scores from 0 to 1": {"items": 1000, "scores": True},
    "100 documents of 10 items": {"items": 1000, "documents": 100},
    "the same, documents not given": {"items": 1000, "documents": 100, "told": False},
    "12 documents of 1 to 80 items": {"items": 400, "documents": 12, "uneven": True},
    "5 tasks of 20 to 320, mean of tasks": {"items": 620, "tasks": True},
    "1,000 items, 60 % not asked": {"items": 1000, "missing": 0.6},
    "200 items, a third asked the 20 easiest": {"items": 200, "easiest": 20},
}
HEADER = (
    "board",
    "false discoveries (at most 5 %)",
    "boards with any false discovery",
    "real differences found",
    "all rank intervals right (95 %)",
    "accuracy intervals right (95 %)",
)


def helm(kind: str) -> og.Responses:
    """Read the table of HELM-lite: thirty language models."""
    frame = pd.read_csv(SHARED / "data" / "llm" / f"helm_lite_{kind}_responses.csv.gz")
    items = frame["scenario"] + "/" + frame["item"].astype(str)
    values = frame.drop(columns=["scenario", "item"])
    table = og.Responses(values.to_numpy().T, respondents=values.columns, items=items)
    return table.described(items={"task": frame["scenario"].tolist()})


def sizes(design: dict[str, Any]) -> np.ndarray:
    """Return the number of items per document."""
    if "documents" not in design:
        return np.ones(design["items"], dtype=int)
    if design.get("uneven"):
        share = np.geomspace(1.0, 80.0, design["documents"])
        return np.maximum(1, np.round(design["items"] * share / share.sum())).astype(int)
    return np.full(design["documents"], design["items"] // design["documents"])


def board(design: dict[str, Any], random: np.random.Generator) -> og.Responses:
    """Simulate responses; some respondents are equally good on the population of items."""
    document = np.repeat(np.arange(len(sizes(design))), sizes(design))
    ability = np.array(design.get("abilities", FOURS))
    taste = TASTE * random.normal(size=(ability.size, document.max() + 1))
    hard = random.normal(size=document.size)
    chance = expit(ability[:, None] - hard + taste[:, document])
    if design.get("scores"):
        values = random.beta(4 * chance, 4 * (1 - chance))
    else:
        values = (random.random(chance.shape) < chance).astype(float)
    values[random.random(values.shape) < design.get("missing", 0.0)] = np.nan
    if "easiest" in design:
        values[np.ix_(np.arange(0, ability.size, 3), np.argsort(hard)[design["easiest"] :])] = (
            np.nan
        )
    facts = {}
    if "documents" in design and design.get("told", True):
        facts["document"] = document.tolist()
    if design.get("tasks"):
        facts["task"] = np.repeat(np.arange(5), 20 * 2 ** np.arange(5)).tolist()
    return og.Responses(values).described(items=facts)


def truth(design: dict[str, Any]) -> np.ndarray:
    """Return each respondent's accuracy on the population of items, by quadrature."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    ability = np.array(design.get("abilities", FOURS))
    spread = np.sqrt(1.0 + TASTE**2)
    return expit(ability[:, None] + spread * nodes) @ (weights / weights.sum())


def judged(design: dict[str, Any], seed: int) -> np.ndarray:
    """Return the rates of one board: false, any false, found, ranks right, accuracies right."""
    table = board(design, np.random.default_rng(seed))
    # If every item was asked, the ability scale does not affect these rates.
    scale = None if table.complete else ability_scale(table, AUTO)[0]
    average = "tasks" if design.get("tasks") else "items"
    tasks, documents = (groups_of(table, name, name, name) for name in (TASK, DOCUMENT))
    found = Board.of(table, tasks, documents, scale, average=average, confidence=0.95)
    tests = found.pairs("bh")
    rank_low, rank_high = rank_limits(tests, table.n_respondents, 0.95)
    real = np.round(truth(design)[found.order], 9)
    first, second = np.triu_indices(real.size, 1)
    gap = real[first] - real[second]
    told = tests.p_adjusted <= 0.05
    rightly = told & (gap != 0) & (np.sign(gap) == np.sign(tests.difference))
    falsely = int(told.sum() - rightly.sum())
    best = 1 + (real[None, :] > real[:, None]).sum(axis=1)
    worst = real.size - (real[None, :] < real[:, None]).sum(axis=1)
    held = ((rank_low <= best) & (rank_high >= worst)).all()
    covered = (found.reached.low <= real) & (real <= found.reached.high)
    share = rightly.sum() / max((gap != 0).sum(), 1)
    return np.array([falsely / max(told.sum(), 1), falsely > 0, share, held, covered.mean()])


def row(name: str, boards: int) -> tuple[object, ...]:
    design = DESIGNS[name]
    results = np.array([judged(design, seed) for seed in range(boards)])
    mean, error = results.mean(axis=0), results.std(axis=0, ddof=1) / np.sqrt(boards)
    cells = [f"{100 * m:.1f} ± {100 * e:.1f} %" for m, e in zip(mean, error, strict=True)]
    if design.get("abilities") == ALIKE:
        cells[2] = "none exist"
    return (name, *cells)


def one_task(boards: int) -> tuple[object, ...]:
    """Measure the coverage of intervals on HELM-lite when six models keep one task each."""
    table = helm("binary")
    values = table.to_frame().to_numpy(dtype=float)
    truth = values.mean(axis=1)
    task = np.array([name.split(":")[0] for name in table.item_groups("task")])
    random, inside, observed, width = np.random.default_rng(0), [], [], []
    for _ in range(boards):
        rows, part = random.choice(len(values), 6, replace=False), values.copy()
        for row_ in rows:
            part[row_, task != random.choice(np.unique(task))] = np.nan
        asked = og.Responses(part, respondents=table.respondents, items=table.items)
        frame = og.leaderboard(asked.described(items={"task": task.tolist()})).to_frame()
        told = frame.loc[[table.respondents[k] for k in rows]]
        low, high = told["accuracy_low"].to_numpy(), told["accuracy_high"].to_numpy()
        inside += list((low <= truth[rows]) & (truth[rows] <= high))
        observed += list(np.abs(told["accuracy_observed"].to_numpy() - truth[rows]))
        width += list(high - low)
    return (
        f"{len(inside)}",
        f"{100 * np.mean(inside):.1f} %",
        f"{np.mean(width):.3f}",
        f"{np.mean(observed):.3f}",
    )


def main() -> None:
    boards = int(sys.argv[1]) if len(sys.argv) > 1 else BOARDS
    print(f"\n## Leaderboards\n\n{machine()}.")
    rows = []
    for kind in ("binary", "graded") if SHARED.is_dir() else ():
        table = helm(kind)
        found = og.leaderboard(table)
        took = best_of(3, partial(og.leaderboard, table))
        told = int((found.tests.p_adjusted <= found.alpha).sum())
        width = np.mean(found.rank_high - found.rank_low + 1)
        size = f"{table.n_respondents} × {table.n_items:,}"
        rows.append((kind, size, f"{took:.1f}", f"{told} of {found.tests.p.size}", f"{width:.1f}"))
    header = (
        "responses",
        "models × items",
        "seconds",
        "pairs that differ",
        "mean width of rank intervals",
    )
    print_table("HELM-lite", header, rows)
    if SHARED.is_dir():
        print_table(
            "HELM-lite, six models each asked one task of six",
            (
                "models",
                "accuracy intervals right (95 %)",
                "mean width of these intervals",
                "mean error of accuracy_observed",
            ),
            [one_task(max(boards // 10, 2))],
        )
    print_table(
        f"Twelve respondents, in groups of three equal ones unless stated; {boards} boards per row",
        HEADER,
        [row(name, boards) for name in sys.argv[2:] or DESIGNS],
    )


if __name__ == "__main__":
    main()
