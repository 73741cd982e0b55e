"""Cross-validation of short forms: on respondents at random, and on the strongest and weakest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ogive.calibration import Calibration
from ogive.errors import InputError
from ogive.models import MeasurementModel
from ogive.numerics.arrays import Floats, workers
from ogive.numerics.prediction_error import grouped_se, prediction_error
from ogive.progress import Progress
from ogive.responses import Responses
from ogive.responses.study_tables import Ints, copies, grouped_folds
from ogive.shortening.choosers import CHOOSERS, Candidates, Choice
from ogive.shortening.forecasts import (
    Forecast,
    Margin,
    Rows,
    bounds,
    full_cells,
    known_of,
    margin,
    placed_in,
    range_of,
)
from ogive.shortening.predictors import suited

DRAWS = 20  # random forms per fold, whose errors are averaged
LEAST_KINDS = 4  # distinct respondents needed for cross-validation
EXTREME = 0.1  # share of the respondents held out as the strongest, and as the weakest
MOST_TIED = 0.4  # share of respondents; more with equal scores are no extreme
BASELINE = ("random", "plain mean")

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
        """Mean absolute error of a way."""
        return float(np.abs(self.told[way].value - self.score)[rows].mean())

    def best(self, rows: NDArray[np.bool_] | slice = slice(None)) -> Way:
        """The way with the smallest error on these respondents."""
        return min(self.told, key=lambda way: self.mean_error(way, rows))


@dataclass(frozen=True, eq=False)
class Trials:
    """Respondents held out in random folds, and the strongest and the weakest, if there are any."""

    at_random: HeldOut
    strongest: HeldOut | None
    weakest: HeldOut | None

    def margin(self, way: Way, told: Forecast, score: Floats, confidence: float) -> Margin:
        """The margin of random folds, widened by what the extremes show to be lacking."""
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
    """The tenth with the highest scores, and who ties with it; None if too few are left."""
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
    from ogive.estimation import calibrate

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
    """Mean response over all items; completed if some were not asked."""
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
    """What every predictor says about the held-out respondents."""
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
    """Plain means of random items, (DRAWS, n_respondents)."""
    places = [random.choice(cells.shape[1], size, replace=False) for _ in range(DRAWS)]
    return np.stack([cells[:, chosen].mean(axis=1) for chosen in places])


def chosen_ways(held: HeldOut) -> list[Way]:
    """The best way for each fold, chosen on the other folds."""
    return [held.best(held.fold != fold) for fold in range(int(held.fold.max()) + 1)]


def chosen_forecast(held: HeldOut, ways: Sequence[Way]) -> Forecast:
    """What is said of each fold by its chosen way."""
    rows = [np.flatnonzero(held.fold == fold) for fold in range(len(ways))]
    return Forecast.joined(
        [(mine, held.told[way].rows(mine)) for mine, way in zip(rows, ways, strict=True)]
    )


def cross_reach(held: HeldOut, told: Forecast, confidence: float) -> tuple[Floats, Floats]:
    """How far each interval reaches down and up, learned from the other folds."""
    down, up = np.empty(len(held.score)), np.empty(len(held.score))
    for fold in range(int(held.fold.max()) + 1):
        inside = held.fold == fold
        learned = margin(told.rows(~inside), held.score[~inside], confidence)
        down[inside], up[inside] = learned.reach(told.rows(inside))
    return down, up


def figures(
    held: HeldOut, predicted: Floats, reach: tuple[Floats, Floats] | None = None
) -> dict[str, float]:
    """Error, agreement of ranks, coverage of intervals, and gain over random items."""
    off, at_random = np.abs(predicted - held.score), np.abs(held.random - held.score)
    gain = at_random.mean(axis=0) - off
    # There are few random forms, so their variation adds to that of the respondents.
    luck = at_random.mean(axis=1).std(ddof=1) / np.sqrt(DRAWS)
    se = float(np.hypot(grouped_se(gain, held.group), luck))
    found = prediction_error(predicted, held.score, held.group, reach)
    return {**found, "gain": float(gain.mean()), "gain_se": se}


def random_figures(held: HeldOut) -> dict[str, float]:
    """Mean figures over the random forms; standard errors include their variation."""
    each = [prediction_error(drawn, held.score, held.group) for drawn in held.random]
    found = {name: float(np.mean([row[name] for row in each])) for name in each[0]}
    for name in ("mae", "rmse", "bias"):
        luck = np.std([row[name] for row in each], ddof=1) / np.sqrt(DRAWS)
        found[f"{name}_se"] = float(np.hypot(found[f"{name}_se"], luck))
    return {**found, "gain": 0.0, "gain_se": 0.0}
