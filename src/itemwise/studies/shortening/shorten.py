"""Which few items say what the whole benchmark would, and how far off they are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from itemwise.arguments import whole_number
from itemwise.calibration import Calibration
from itemwise.errors import InputError
from itemwise.estimation import calibrate
from itemwise.estimation.choosing import AUTO
from itemwise.learning.conformal import checked_coverage, rank_needed
from itemwise.models import MeasurementModel
from itemwise.numerics.blocks import workers
from itemwise.responses import Responses, Table, as_responses
from itemwise.studies.shortening.choosers import CHOOSERS, Candidates, shares
from itemwise.studies.shortening.folds import (
    BASELINE,
    HeldOut,
    Way,
    bounds,
    chosen_predictions,
    chosen_ways,
    cross_reach,
    figures,
    full_cells,
    hold_out,
    known_of,
    margin,
    random_figures,
)
from itemwise.studies.shortening.predictors import PREDICTORS
from itemwise.studies.shortening.saving import load_short_benchmark
from itemwise.studies.shortening.short_benchmark import ShortBenchmark
from itemwise.words import counted, listed

__all__ = ["ShortBenchmark", "load_short_benchmark", "shorten"]

FEW = 50  # respondents; with fewer, the error itself is not well known
METHODS = (AUTO, *CHOOSERS)


def shorten(
    responses: Table,
    size: int,
    *,
    method: str = "information",
    model: str | MeasurementModel = AUTO,
    by: Any = None,
    folds: int = 5,
    coverage: float = 0.9,
    random_state: int = 0,
) -> ShortBenchmark:
    """Choose `size` items that predict the score on all of them, and measure how well they do.

    The frame has a row an item that was kept: weight and parameters; `predict` gives a row a
    respondent. Anchors are those of tinyBenchmarks (Maia Polo et al., 2024).

    Parameters
    ----------
    responses
        Respondents × items. Where items were never asked, the score on all is completed by the
        measurement model.
    method
        "information" takes the items that together leave the least variance of the score;
        "anchors" one item a cluster of items that the same respondents solve, "irt_anchors" a
        cluster of like parameters; "stratified" one a layer of difficulty; "random" draws lots;
        "auto" the one of these, lots aside, with the smallest error.
    model
        The measurement model, as in `calibrate`.
    by
        Groups of items, such as "task": a fact, a mapping or a list. Each gets its share.
    folds
        Parts of the respondents that are held out in turn; those with the same responses stay
        together. How the score is predicted (weighted mean, completed by the model, a mixture of
        both, ridge regression, kernel regression) is chosen by the other folds, too.
    coverage
        Share of respondents whose score the intervals shall hold.
    random_state
        Seed of folds and of what is drawn.

    Examples
    --------
    >>> import itemwise as iw
    >>> table = iw.simulate("2pl", 60, 12, random_state=1).responses
    >>> short = iw.shorten(table, 4, folds=2)
    >>> list(short.predict(table).columns)
    ['accuracy', 'low', 'high', 'ability', 'se', 'asked']
    """
    table = as_responses(responses)
    size = whole_number(size, "size", 1, table.n_items - 1)
    folds = whole_number(folds, "folds", 2)
    seed = whole_number(random_state, "random_state", 0)
    coverage = checked_coverage(coverage)
    groups = None if by is None else table.item_groups(by)
    whole = calibrate(table, model)
    held = hold_out(table, whole, size, _methods(method), groups, folds, seed)
    best = held.best()
    ways = chosen_ways(held)
    predicted, unsure = chosen_predictions(held, ways)
    reach = cross_reach(held, predicted, unsure, coverage)
    ends = bounds(whole)
    return ShortBenchmark(
        **_learned(table, whole, best, size, groups, held, seed),
        method=best[0],
        predictor=best[1],
        margin=margin(predicted - held.score, unsure, coverage),
        coverage=coverage,
        errors=_errors(held, best, figures(held, predicted, reach), coverage),
        respondents=table.respondents,
        score=held.score,
        predicted=predicted,
        low=np.clip(predicted - reach, *ends),
        high=np.clip(predicted + reach, *ends),
        notes=_notes(table, whole, held, ways, groups, size, coverage),
    )


def _methods(method: object) -> list[str]:
    if method == AUTO:
        return [name for name in CHOOSERS if name != "random"]
    if not isinstance(method, str) or method not in CHOOSERS:
        raise InputError(f"method is {method!r:.60}, but it should be one of {', '.join(METHODS)}.")
    return [method]


def _learned(
    table: Responses,
    whole: Calibration,
    way: Way,
    size: int,
    groups: tuple[str, ...] | None,
    held: HeldOut,
    seed: int,
) -> dict[str, Any]:
    """The short form that all respondents give, and what its predictor learns from them."""
    candidates = Candidates(whole, full_cells(whole, table), groups)
    choice = CHOOSERS[way[0]](candidates, size, np.random.default_rng(seed))
    items = tuple(table.items[k] for k in choice.places)
    known, _ = known_of(whole, table.select(items=items), choice.weights)
    with workers(1):  # BLAS in one thread
        numbers = PREDICTORS[way[1]].fit(known, held.score)
    return {
        "items": items,
        "weights": choice.weights,
        "groups": None if groups is None else tuple(groups[k] for k in choice.places),
        "numbers": numbers,
        "calibration": replace(whole, responses=None, weights=None),
    }


def _errors(
    held: HeldOut, best: Way, own: dict[str, Any], coverage: float
) -> dict[str, tuple[Any, ...]]:
    """The short form first, then every way by its error, and items drawn by lot."""
    rows = [{"items": best[0], "estimate": best[1], "part": "this short form", **own}]
    for method, name in sorted(held.predicted, key=held.mean_error):
        predicted, unsure = held.predicted[method, name], held.unsure[method]
        found = figures(held, predicted, cross_reach(held, predicted, unsure, coverage))
        rows.append({"items": method, "estimate": name, "part": "considered", **found})
    lot = dict(zip(("items", "estimate"), BASELINE, strict=True))
    rows.append({**lot, "part": "for comparison", **random_figures(held)})
    return {name: tuple(row[name] for row in rows) for name in rows[0]}


def _notes(
    table: Responses,
    whole: Calibration,
    held: HeldOut,
    ways: list[Way],
    groups: tuple[str, ...] | None,
    size: int,
    coverage: float,
) -> tuple[str, ...]:
    notes = []
    if not table.complete:
        notes.append(
            f"{counted(table.n_missing, 'response')} of {table.cells.size:,} were never asked: "
            "scores on all items are completed by the measurement model."
        )
    kinds = int(held.group.max()) + 1
    if kinds < len(held.score):
        notes.append(
            f"{len(held.score) - kinds:,} of {counted(len(held.score), 'respondent')} have the "
            "same responses as another; they were held out together."
        )
    if kinds < FEW:
        notes.append(f"{kinds} different respondents are few: the error itself is a rough guess.")
    if rank_needed(len(held.score), coverage) > len(held.score):
        notes.append(
            f"Too few respondents for intervals that hold for {coverage:.0%}: they span all "
            "scores. Ask for a smaller coverage."
        )
    if len(set(ways)) > 1:
        notes.append("Folds differ in which way they find best; the error is that of their choice.")
    if groups is not None:
        none = [name for name, count in shares(groups, size).items() if not count]
        if none:
            notes.append(f"No item of {listed(none, 'group')}: its share is below half an item.")
    return (*notes, *(note for note in whole.notes if "onverge" in note))
