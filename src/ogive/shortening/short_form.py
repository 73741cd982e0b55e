"""Choose a few items that predict the result on a whole benchmark, and measure their error."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ogive.arguments import one_of, whole_number
from ogive.calibration import Calibration
from ogive.calibration.shown_scale import NEGATIVE
from ogive.errors import InputError
from ogive.estimation import calibrate
from ogive.estimation.chosen_models import HANDFUL, model_with_slopes
from ogive.models import AUTO, MeasurementModel
from ogive.numerics.arrays import workers
from ogive.numerics.intervals import conformal_rank
from ogive.numerics.prediction_error import mean_error_ends
from ogive.progress import Progress, telling
from ogive.responses import Responses, Table, as_responses
from ogive.responses.repeated_answers import tries_in_words
from ogive.responses.score_units import said_of_raw_units
from ogive.responses.study_tables import (
    TASK,
    answered,
    check_linked,
    groups_of,
    said_of_folds,
)
from ogive.shortening.choosers import CHOOSERS, Candidates, shares
from ogive.shortening.folds import (
    BASELINE,
    HeldOut,
    Trials,
    Way,
    chosen_forecast,
    chosen_ways,
    cross_reach,
    figures,
    hold_out,
    random_figures,
)
from ogive.shortening.forecasts import bounds, full_cells, known_of, margin, range_of
from ogive.shortening.predictors import PREDICTORS
from ogive.shortening.short_benchmark import (
    LOT,
    LOT_OF,
    OWN,
    STRONGER,
    WEAKER,
    ShortBenchmark,
    checked_confidence,
)
from ogive.words import counted, listed, mean_called

__all__ = ["ShortBenchmark", "shorten"]

FEW = 50  # respondents below which the error itself is uncertain
METHODS = (AUTO, *CHOOSERS)


def shorten(
    responses: Table,
    size: int,
    *,
    method: str = "information",
    model: str | MeasurementModel = AUTO,
    by: Any = None,
    cv: int = 5,
    confidence: float = 0.95,
    random_state: int = 0,
    progress: Progress | bool = True,
) -> ShortBenchmark:
    """Choose `size` items that predict the accuracy on all of them, and measure how well they do.

    Accuracy is the mean response, also for grades and scores. The frame has one row per chosen
    item: weight and parameters; `predict` returns one row per respondent. Anchors are those of
    tinyBenchmarks (Maia Polo et al., 2024).

    Parameters
    ----------
    responses
        Respondents × items. If a response is missing, the accuracy on all items is completed by
        the measurement model.
    method
        "information" chooses the items that together leave the least variance of the sum;
        "anchors" one item per cluster of items that the same respondents solve; "irt_anchors" one
        per cluster of similar parameters; "stratified" one per layer of difficulty; "random"
        chooses at random; "auto" uses the one with the smallest error, "random" excepted.
    model
        The measurement model, as in `calibrate`; but for right or wrong responses of fewer than 30
        respondents, "auto" is "1pl": too few to estimate discriminations.
    by
        Groups of items, such as "task": a fact, a mapping or a list. Each group gets its share.
    cv
        Number of folds of respondents, held out in turn; respondents with the same responses stay
        together. How accuracy is predicted (weighted mean, completed by the model, a mixture of
        both; from 30 respondents on, ridge regression, kernel regression) is also chosen on the
        other folds. Then the strongest tenth is predicted from the rest, and the weakest: see
        `error`.
    confidence
        Share of respondents whose accuracy the intervals are to cover.
    random_state
        Seed of the folds and of random choices.
    progress
        True shows a bar in a terminal or a notebook, False nothing; a callable is called with
        (done, total, message): folds done.

    Examples
    --------
    >>> import ogive as og
    >>> table = og.simulate("2pl", 60, 12, random_state=1).responses
    >>> short = og.shorten(table, 4, cv=2)
    >>> list(short.predict(table).columns[:5])
    ['accuracy', 'accuracy_low', 'accuracy_high', 'beyond', 'beyond_chance']
    """
    given = as_responses(responses)
    known = answered(given)
    table = known.table
    check_linked(table, "shorten")
    if table.n_items < 2:
        raise InputError(
            f"There is {counted(table.n_items, 'item')}, but a short form leaves some out: it "
            "needs at least 2. Give a table of more items."
        )
    size = whole_number(size, "size", 1, table.n_items - 1)
    cv = whole_number(cv, "cv", 2)
    seed = whole_number(random_state, "random_state", 0)
    confidence = checked_confidence(confidence)
    groups = None if by is None else known.of_items(given.item_groups(by))
    tasks = groups_of(table, TASK, TASK, "task")
    with telling(progress, "Shortening") as report:
        report(0, cv + 1, "calibrating")
        chosen, said = model_with_slopes(model, table, "chosen", HANDFUL)
        whole = calibrate(table, chosen)
        trials = hold_out(
            table, whole, size, _methods(method), groups, cv, confidence, seed, report
        )
    held = trials.at_random
    best, ways = held.best(), chosen_ways(held)
    told = chosen_forecast(held, ways)
    down, up = cross_reach(held, told, confidence)
    ends = bounds(whole)
    learned = _learned(table, whole, best, size, groups, held, seed)
    return ShortBenchmark(
        **learned,
        method=best[0],
        predictor=best[1],
        margin=trials.margin(best, told, held.score, confidence),
        confidence=confidence,
        errors=_errors(trials, best, figures(held, told.value, (down, up)), confidence),
        respondents=table.respondents,
        accuracy=held.score,
        predicted=told.value,
        low=np.clip(told.value - down, *ends),
        high=np.clip(told.value + up, *ends),
        notes=(
            *known.notes,
            *said,
            *said_of_raw_units(table, tasks),
            *_repeated(table),
            *_notes(table, whole, held, ways, groups, size),
            *said_of_folds(held.group, cv),
            *_too_few(len(held.score), confidence),
            *_negative(whole, learned["items"]),
        ),
    )


def _methods(method: object) -> list[str]:
    if method == AUTO:
        return [name for name in CHOOSERS if name != "random"]
    return [one_of(method, "method", METHODS)]


def _learned(
    table: Responses,
    whole: Calibration,
    way: Way,
    size: int,
    groups: tuple[str, ...] | None,
    held: HeldOut,
    seed: int,
) -> dict[str, Any]:
    """The short form from all respondents, and what its predictor learns from them."""
    candidates = Candidates(whole, full_cells(whole, table), groups)
    choice = CHOOSERS[way[0]](candidates, size, np.random.default_rng(seed))
    items = tuple(table.items[k] for k in choice.places)
    short = table.select(items=items)
    known, _ = known_of(whole, short, choice.weights)
    with workers(1):  # BLAS in one thread
        numbers = PREDICTORS[way[1]].fit(known, held.score)
    return {
        "items": items,
        "weights": choice.weights,
        "groups": None if groups is None else tuple(groups[k] for k in choice.places),
        "form": short.values,
        "tries": short.tries if short.kind == "binary" else None,
        "numbers": numbers,
        "within": range_of(whole, short, known.responses, held.score),
        "calibration": replace(whole, responses=None, weights=None),
    }


def _errors(
    trials: Trials, best: Way, own: dict[str, Any], confidence: float
) -> dict[str, tuple[Any, ...]]:
    """The short form first, also for extremes, then every way by its error, random items last.

    Coverage of extremes is that of intervals that have not been widened by them.
    """
    held = trials.at_random
    n_folds = int(held.fold.max()) + 1
    rows = [_way(best, OWN, own)]
    for way in sorted(held.told, key=held.mean_error):
        told = held.told[way]
        rows.append(
            _way(way, "considered", figures(held, told.value, cross_reach(held, told, confidence)))
        )
    inside = margin(held.told[best], held.score, confidence)
    for role, side in ((STRONGER, trials.strongest), (WEAKER, trials.weakest)):
        if side is not None:
            told = side.told[best]
            rows.append(_way(best, role, figures(side, told.value, inside.reach(told))))
            rows.append(_way(BASELINE, LOT_OF[role], random_figures(side)))
    rows.append(_way(BASELINE, LOT, random_figures(held)))
    shares = held.score.min() >= 0 and held.score.max() <= 1  # which are 1 apart at most
    for row in rows:
        low, high = mean_error_ends(row["mae"], row["mae_se"], n_folds, confidence)
        row["mae_low"], row["mae_high"] = float(low), min(float(high), 1.0 if shares else np.inf)
    return {name: tuple(row[name] for row in rows) for name in rows[0]}


def _way(way: Way, role: str, found: dict[str, Any]) -> dict[str, Any]:
    """A row of the errors."""
    return {"method": way[0], "predictor": way[1], "role": role, **found}


def _notes(
    table: Responses,
    whole: Calibration,
    held: HeldOut,
    ways: list[Way],
    groups: tuple[str, ...] | None,
    size: int,
) -> tuple[str, ...]:
    notes = []
    if not table.complete:
        notes.append(
            f"Missing: {counted(table.n_missing, 'response')} of {table.cells.size:,}. The "
            f"{mean_called(table.kind)} on all items is completed by the measurement model."
        )
    kinds = int(held.group.max()) + 1
    if kinds < FEW:
        notes.append(f"With only {kinds} distinct respondents, the error itself is uncertain.")
    if len(set(ways)) > 1:
        notes.append(
            "The best way to choose and predict differs between folds; the error is that of the "
            "way chosen for each fold."
        )
    if groups is not None:
        none = [name for name, count in shares(groups, size).items() if not count]
        if none:
            notes.append(
                f"No item from {listed(none, 'group')}: "
                f"{'its' if len(none) == 1 else 'their'} share of the short form is below half "
                "an item."
            )
    return (*notes, *(note for note in whole.notes if "onverge" in note))


def _repeated(table: Responses) -> list[str]:
    """What the error holds for, if answers were repeated."""
    if table.tries is None:
        return []
    note = (
        f"{mean_called(table.kind).capitalize()} is over repeated answers "
        f"({tries_in_words(table.tries)}), and the error is that of a short form whose items are "
        "asked as often."
    )
    return [note]


def _negative(whole: Calibration, items: tuple[str, ...]) -> list[str]:
    """Which of the chosen items better respondents do worse on."""
    flags = whole.items["flag"].loc[list(items)]
    turned = [str(name) for name in flags.index[flags == NEGATIVE]]
    if not turned:
        return []
    note = (
        f"In the short form, {listed(turned, 'item')} {'has' if len(turned) == 1 else 'have'} an "
        "estimated discrimination below zero: better respondents do worse there. Look at the key "
        "or the grading, and shorten again without what is wrong."
    )
    return [note]


def _too_few(n_respondents: int, confidence: float) -> list[str]:
    if conformal_rank(n_respondents, confidence) <= n_respondents:
        return []
    note = (
        f"There are too few respondents for {confidence:.0%} intervals: these span all possible "
        "values. Choose a lower confidence."
    )
    return [note]
