"""Cross-validation of short forms on held-out respondents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from itemwise.calibration import Calibration
from itemwise.errors import InputError
from itemwise.models import MeasurementModel
from itemwise.numerics.arrays import Floats, workers
from itemwise.numerics.intervals import conformal_quantile
from itemwise.numerics.prediction_error import grouped_se, prediction_error
from itemwise.progress import Progress
from itemwise.responses import Responses
from itemwise.responses.study_tables import Ints, copies, grouped_folds
from itemwise.studies.shortening.choosers import CHOOSERS, Candidates, Choice
from itemwise.studies.shortening.predictors import PREDICTORS, Known

DRAWS = 20  # random forms per fold, whose errors are averaged
LEAST_KINDS = 4  # distinct respondents needed for cross-validation
BASELINE = ("random", "plain mean")

Way = tuple[str, str]  # how items are chosen, and how the score is predicted


@dataclass(frozen=True, eq=False)
class HeldOut:
    """What each way predicts for held-out respondents."""

    score: Floats  # (n_respondents,); on all items
    fold: Ints
    group: Ints  # respondents with the same responses
    predicted: dict[Way, Floats]
    unsure: dict[str, Floats]  # by chooser: standard error of the completed score
    random: Floats  # (DRAWS, n_respondents); plain mean of random items

    def mean_error(self, way: Way, rows: NDArray[np.bool_] | slice = slice(None)) -> float:
        """Mean absolute error of a way."""
        return float(np.abs(self.predicted[way] - self.score)[rows].mean())

    def best(self, rows: NDArray[np.bool_] | slice = slice(None)) -> Way:
        """The way with the smallest error on these respondents."""
        return min(self.predicted, key=lambda way: self.mean_error(way, rows))


@dataclass(frozen=True, eq=False)
class Plan:
    """What every fold needs."""

    table: Responses
    model: MeasurementModel
    score: Floats  # (n_respondents,)
    fold: Ints
    size: int
    methods: tuple[str, ...]
    groups: tuple[str, ...] | None


@dataclass(frozen=True, eq=False)
class Margin:
    """How wide intervals are: `factor` times (standard error of the completed score + `floor`)."""

    factor: float  # infinite if there are too few respondents
    floor: float

    def reach(self, unsure: Floats) -> Floats:
        """Half the width of each interval."""
        found: Floats = self.factor * (unsure + self.floor)
        return found


def full_cells(bank: Calibration, table: Responses) -> Floats:
    """Responses as numbers; missing ones as the ability predicts."""
    values = table.values
    if table.complete:
        return values
    part = bank if bank.item_names == table.items else bank.of_items(table.items)
    ability = bank.score(table, items_known=True)["ability"].to_numpy()
    return np.where(np.isnan(values), part.model.expected(part.coords, ability).T, values)


def known_of(bank: Calibration, short: Responses, weights: Floats) -> tuple[Known, Floats]:
    """What a short form says about respondents, and the standard error of the completed score."""
    scored = bank.completed_scores(short, items_known=True)
    known = Known(full_cells(bank, short), scored["score"].to_numpy(), weights)
    return known, scored["score_se"].to_numpy()


def hold_out(
    table: Responses,
    whole: Calibration,
    size: int,
    methods: Sequence[str],
    groups: tuple[str, ...] | None,
    cv: int,
    seed: int,
    report: Progress,
) -> HeldOut:
    """Calibrate, choose and learn without each fold in turn, then predict it."""
    group = copies(table)
    kinds = int(group.max()) + 1
    if kinds < LEAST_KINDS:
        raise InputError(
            f"{kinds} of {table.n_respondents} respondents differ in their responses, but "
            f"cross-validation needs at least {LEAST_KINDS}. Give more respondents."
        )
    fold = grouped_folds(group, cv, seed)
    plan = Plan(table, whole.model, full_scores(whole, table), fold, size, tuple(methods), groups)
    seeds = np.random.SeedSequence(seed).spawn(int(fold.max()) + 1)
    n = table.n_respondents
    predicted = {(method, name): np.empty(n) for method in methods for name in PREDICTORS}
    unsure = {method: np.empty(n) for method in methods}
    at_random = np.empty((DRAWS, n))
    with workers() as run:
        found = []
        for judged in run(lambda job: _judged(plan, *job), list(enumerate(seeds))):
            found.append(judged)
            report(1 + len(found), 1 + len(seeds), "folds held out in turn")
    for test, told, error, drawn in found:
        for way, values in told.items():
            predicted[way][test] = values
        for method, values in error.items():
            unsure[method][test] = values
        at_random[:, test] = drawn
    return HeldOut(plan.score, fold, group, predicted, unsure, at_random)


def _judged(
    plan: Plan, held: int, seed: np.random.SeedSequence
) -> tuple[NDArray[np.intp], dict[Way, Floats], dict[str, Floats], Floats]:
    """Learn without one fold, and predict it."""
    from itemwise.estimation import calibrate

    random = np.random.default_rng(seed)
    train, test = np.flatnonzero(plan.fold != held), np.flatnonzero(plan.fold == held)
    learned, judged = (plan.table.select(respondents=rows) for rows in (train, test))
    bank = calibrate(learned, plan.model)
    candidates = Candidates(bank, full_cells(bank, learned), plan.groups)
    told: dict[Way, Floats] = {}
    unsure = {}
    for method in plan.methods:
        choice = CHOOSERS[method](candidates, plan.size, random)
        said, unsure[method] = _predictions(bank, learned, judged, choice, plan.score[train])
        told.update({(method, name): values for name, values in said.items()})
    return test, told, unsure, _drawn(full_cells(bank, judged), plan.size, random)


def full_scores(bank: Calibration, table: Responses) -> Floats:
    """Mean response over all items; completed if some were not asked."""
    if table.complete:
        return np.asarray(table.values.mean(axis=1))
    return np.asarray(bank.completed_scores(table, items_known=True)["score"].to_numpy())


def _predictions(
    bank: Calibration, learned: Responses, judged: Responses, choice: Choice, score: Floats
) -> tuple[dict[str, Floats], Floats]:
    """What every predictor says about the held-out respondents."""
    names = [bank.item_names[k] for k in choice.places]
    known, _ = known_of(bank, learned.select(items=names), choice.weights)
    asked, unsure = known_of(bank, judged.select(items=names), choice.weights)
    low, high = bounds(bank)
    told = {
        name: np.clip(p.predict(p.fit(known, score), asked), low, high)
        for name, p in PREDICTORS.items()
    }
    return told, unsure


def bounds(bank: Calibration) -> tuple[float, float]:
    """The worst and the best mean response over all items."""
    n = len(bank.item_names)
    low, high = (float(np.broadcast_to(end, n).mean()) for end in bank.model.extent())
    return low, high


def _drawn(cells: Floats, size: int, random: np.random.Generator) -> Floats:
    """Plain means of random items, (DRAWS, n_respondents)."""
    places = [random.choice(cells.shape[1], size, replace=False) for _ in range(DRAWS)]
    return np.stack([cells[:, chosen].mean(axis=1) for chosen in places])


def margin(error: Floats, unsure: Floats, confidence: float) -> Margin:
    """Intervals that cover the true score for the share `confidence` of respondents like these.

    Errors are in units of the standard error of the completed score plus its mean; the standard
    error alone is too small for a respondent that solves everything or nothing.
    """
    floor = max(float(unsure.mean()), 1e-12)
    return Margin(conformal_quantile(np.abs(error) / (unsure + floor), confidence), floor)


def chosen_ways(held: HeldOut) -> list[Way]:
    """The best way for each fold, chosen on the other folds."""
    return [held.best(held.fold != fold) for fold in range(int(held.fold.max()) + 1)]


def chosen_predictions(held: HeldOut, ways: Sequence[Way]) -> tuple[Floats, Floats]:
    """Predictions of each fold by its chosen way, and standard errors of completed scores."""
    rows = np.arange(len(held.score))
    found = np.array([held.predicted[ways[f]][k] for k, f in zip(rows, held.fold, strict=True)])
    unsure = np.array([held.unsure[ways[f][0]][k] for k, f in zip(rows, held.fold, strict=True)])
    return found, unsure


def cross_reach(held: HeldOut, predicted: Floats, unsure: Floats, confidence: float) -> Floats:
    """Half the width of each interval, learned from the other folds."""
    reach = np.empty(len(predicted))
    for fold in range(int(held.fold.max()) + 1):
        inside = held.fold == fold
        learned = margin((predicted - held.score)[~inside], unsure[~inside], confidence)
        reach[inside] = learned.reach(unsure[inside])
    return reach


def figures(held: HeldOut, predicted: Floats, reach: Floats | None = None) -> dict[str, float]:
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
