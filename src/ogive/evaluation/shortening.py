"""Choose a few items that predict the result on a whole benchmark, and measure their error.

Errors are cross-validated on respondents at random, and on the strongest and the weakest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ogive._progress import Progress, telling
from ogive._validation import one_of, whole_number
from ogive.data.responses import Responses, Table, as_responses
from ogive.data.study_tables import (
    TASK,
    Ints,
    answered,
    check_linked,
    copies,
    grouped_folds,
    groups_of,
    said_of_folds,
    said_of_raw_units,
)
from ogive.errors import InputError
from ogive.evaluation.item_choice import CHOOSERS, Candidates, Choice, shares
from ogive.evaluation.score_prediction import (
    PREDICTORS,
    Forecast,
    Margin,
    Rows,
    bounds,
    full_cells,
    known_of,
    margin,
    placed_in,
    range_of,
    suited,
)
from ogive.evaluation.short_benchmark import (
    BASELINE,
    LOT,
    LOT_OF,
    OWN,
    STRONGER,
    WEAKER,
    ShortBenchmark,
    checked_confidence,
)
from ogive.irt.calibrating import HANDFUL, calibrate, model_with_slopes
from ogive.irt.calibration import Calibration
from ogive.irt.item_curves import NEGATIVE
from ogive.irt.models import AUTO
from ogive.irt.models.base import MeasurementModel
from ogive.irt.repeated_responses import tries_in_words
from ogive.results.numbers import counted, listed, mean_called
from ogive.stats.array_backend import Floats, workers
from ogive.stats.intervals import conformal_rank
from ogive.stats.metrics import grouped_se, mean_error_ends, prediction_error

__all__ = ["ShortBenchmark", "shorten"]


DRAWS = 20  # random forms per fold, whose errors are averaged
LEAST_KINDS = 4  # distinct respondents needed for cross-validation
EXTREME = 0.1  # share of the respondents held out as the strongest, and as the weakest
MOST_TIED = 0.4  # share of respondents; more with equal scores are no extreme

Way = tuple[str, str]  # how items are chosen, and how the score is predicted


@dataclass(frozen=True, eq=False)
class HeldOut:
    """What each way predicts for held-out respondents."""

    score: Floats  # (n_respondents,); on all items
    fold: Ints
    group: Ints  # respondents with the same responses
    told: dict[Way, Forecast]
    random: Floats  # (DRAWS, n_respondents); plain mean of random items

    def mean_error(self, way: Way, rows: NDArray[np.bool_] | slice = slice(None)) -> float:
        """Return mean absolute error of a way."""
        return float(np.abs(self.told[way].value - self.score)[rows].mean())

    def best(self, rows: NDArray[np.bool_] | slice = slice(None)) -> Way:
        """Return the way with the smallest error on these respondents."""
        return min(self.told, key=lambda way: self.mean_error(way, rows))


@dataclass(frozen=True, eq=False)
class Trials:
    """Respondents held out in random folds, and the strongest and the weakest, if there are any."""

    at_random: HeldOut
    strongest: HeldOut | None
    weakest: HeldOut | None

    def margin(self, way: Way, told: Forecast, score: Floats, confidence: float) -> Margin:
        """Return the margin of random folds, widened by what the extremes show to be lacking."""
        found = margin(told, score, confidence)
        strong, weak = (
            (told.rows(np.arange(0)), score[:0]) if side is None else (side.told[way], side.score)
            for side in (self.strongest, self.weakest)
        )
        return found.widened(strong, weak, confidence)


@dataclass(frozen=True, eq=False)
class Plan:
    """What every fold needs."""

    table: Responses
    model: MeasurementModel
    score: Floats  # (n_respondents,)
    size: int
    methods: tuple[str, ...]
    groups: tuple[str, ...] | None
    confidence: float


def hold_out(
    table: Responses,
    whole: Calibration,
    size: int,
    methods: Sequence[str],
    groups: tuple[str, ...] | None,
    cv: int,
    confidence: float,
    seed: int,
    report: Progress,
) -> Trials:
    """Calibrate, choose and learn without each part of the respondents, then predict it."""
    group = copies(table)
    kinds = int(group.max()) + 1
    if kinds < LEAST_KINDS:
        raise InputError(
            f"{kinds} of {table.n_respondents} respondents differ in their responses, but "
            f"cross-validation needs at least {LEAST_KINDS}. Give more respondents."
        )
    fold = grouped_folds(group, cv, seed)
    score = full_scores(whole, table)
    plan = Plan(table, whole.model, score, size, tuple(methods), groups, confidence)
    parts = [fold == k for k in range(int(fold.max()) + 1)]
    sides = [_extreme(sign * score, group) for sign in (1, -1)]
    parts += [side for side in sides if side is not None]
    seeds = np.random.SeedSequence(seed).spawn(len(parts))
    jobs = [(np.flatnonzero(part), seed) for part, seed in zip(parts, seeds, strict=True)]
    with workers() as run:
        found = []
        for judged in run(lambda job: _judged(plan, *job), jobs):
            found.append(judged)
            report(1 + len(found), 1 + len(jobs), "parts held out in turn")
    count = int(fold.max()) + 1
    rest = iter(found[count:])
    strongest, weakest = (
        None if side is None else _gathered([next(rest)], score, fold, group) for side in sides
    )
    return Trials(_gathered(found[:count], score, fold, group), strongest, weakest)


def _extreme(score: Floats, group: Ints) -> NDArray[np.bool_] | None:
    """Return the tenth with the highest scores, and who ties with it; None if too few are left."""
    count = max(1, int(EXTREME * len(score)))
    part: NDArray[np.bool_] = score >= np.sort(score)[-count]
    left = np.unique(group[~part]).size
    return part if part.mean() <= MOST_TIED and left >= LEAST_KINDS else None


Judged = tuple[Rows, dict[Way, Forecast], Floats]


def _gathered(parts: Sequence[Judged], score: Floats, fold: Ints, group: Ints) -> HeldOut:
    """Put what was said of the parts together, in the order of the respondents."""
    rows = np.sort(np.concatenate([part[0] for part in parts]))
    order = np.argsort(np.concatenate([part[0] for part in parts]))
    told = {
        way: Forecast.joined([(held, said[way]) for held, said, _ in parts]) for way in parts[0][1]
    }
    drawn = np.concatenate([part[2] for part in parts], axis=1)[:, order]
    return HeldOut(score[rows], fold[rows], group[rows], told, drawn)


def _judged(plan: Plan, test: Rows, seed: np.random.SeedSequence) -> Judged:
    """Learn without some respondents, and predict them."""
    from ogive.irt.calibrating import calibrate

    random = np.random.default_rng(seed)
    train = np.setdiff1d(np.arange(plan.table.n_respondents), test)
    learned, judged = (plan.table.select(respondents=rows) for rows in (train, test))
    bank = calibrate(learned, plan.model)
    candidates = Candidates(bank, full_cells(bank, learned), plan.groups)
    told: dict[Way, Forecast] = {}
    for method in plan.methods:
        choice = CHOOSERS[method](candidates, plan.size, random)
        said = _forecasts(bank, learned, judged, choice, plan.score[train], plan.confidence)
        told.update({(method, name): found for name, found in said.items()})
    return test, told, _drawn(full_cells(bank, judged), plan.size, random)


def full_scores(bank: Calibration, table: Responses) -> Floats:
    """Return mean response over all items; completed if some were not asked."""
    if table.complete:
        return np.asarray(table.values.mean(axis=1))
    return np.asarray(bank.completed_scores(table, items_known=True)["score"].to_numpy())


def _forecasts(
    bank: Calibration,
    learned: Responses,
    judged: Responses,
    choice: Choice,
    score: Floats,
    confidence: float,
) -> dict[str, Forecast]:
    """Return what every predictor says about the held-out respondents."""
    names = [bank.item_names[k] for k in choice.places]
    asked, new = learned.select(items=names), judged.select(items=names)
    known, _ = known_of(bank, asked, choice.weights)
    given, unsure = known_of(bank, new, choice.weights)
    within = range_of(bank, asked, known.responses, score)
    placed, ends = placed_in(within, bank, new, confidence), bounds(bank)
    return {
        name: Forecast(
            placed.mixed(np.clip(p.predict(p.fit(known, score), given), *ends)), unsure, placed
        )
        for name, p in suited(learned.n_respondents).items()
    }


def _drawn(cells: Floats, size: int, random: np.random.Generator) -> Floats:
    """Return plain means of random items, (DRAWS, n_respondents)."""
    places = [random.choice(cells.shape[1], size, replace=False) for _ in range(DRAWS)]
    return np.stack([cells[:, chosen].mean(axis=1) for chosen in places])


def chosen_ways(held: HeldOut) -> list[Way]:
    """Return the best way for each fold, chosen on the other folds."""
    return [held.best(held.fold != fold) for fold in range(int(held.fold.max()) + 1)]


def chosen_forecast(held: HeldOut, ways: Sequence[Way]) -> Forecast:
    """Return what is said of each fold by its chosen way."""
    rows = [np.flatnonzero(held.fold == fold) for fold in range(len(ways))]
    return Forecast.joined(
        [(mine, held.told[way].rows(mine)) for mine, way in zip(rows, ways, strict=True)]
    )


def cross_reach(held: HeldOut, told: Forecast, confidence: float) -> tuple[Floats, Floats]:
    """Return how far each interval reaches down and up, learned from the other folds."""
    down, up = np.empty(len(held.score)), np.empty(len(held.score))
    for fold in range(int(held.fold.max()) + 1):
        inside = held.fold == fold
        learned = margin(told.rows(~inside), held.score[~inside], confidence)
        down[inside], up[inside] = learned.reach(told.rows(inside))
    return down, up


def figures(
    held: HeldOut, predicted: Floats, reach: tuple[Floats, Floats] | None = None
) -> dict[str, float]:
    """Return error, agreement of ranks, coverage of intervals, and gain over random items."""
    off, at_random = np.abs(predicted - held.score), np.abs(held.random - held.score)
    gain = at_random.mean(axis=0) - off
    # There are few random forms, so their variation adds to that of the respondents.
    luck = at_random.mean(axis=1).std(ddof=1) / np.sqrt(DRAWS)
    se = float(np.hypot(grouped_se(gain, held.group), luck))
    found = prediction_error(predicted, held.score, held.group, reach)
    return {**found, "gain": float(gain.mean()), "gain_se": se}


def random_figures(held: HeldOut) -> dict[str, float]:
    """Return mean figures over the random forms; standard errors include their variation."""
    each = [prediction_error(drawn, held.score, held.group) for drawn in held.random]
    found = {name: float(np.mean([row[name] for row in each])) for name in each[0]}
    for name in ("mae", "rmse", "bias"):
        luck = np.std([row[name] for row in each], ddof=1) / np.sqrt(DRAWS)
        found[f"{name}_se"] = float(np.hypot(found[f"{name}_se"], luck))
    return {**found, "gain": 0.0, "gain_se": 0.0}


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
    """Return the short form from all respondents, and what its predictor learns from them."""
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
    """Return the short form first, then every other way by its error, random items last.

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
    """Return a row of the errors."""
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
    """Return what the error holds for, if answers were repeated."""
    if table.tries is None:
        return []
    note = (
        f"{mean_called(table.kind).capitalize()} is over repeated answers "
        f"({tries_in_words(table.tries)}), and the error is that of a short form whose items are "
        "asked as often."
    )
    return [note]


def _negative(whole: Calibration, items: tuple[str, ...]) -> list[str]:
    """Return which of the chosen items better respondents do worse on."""
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
