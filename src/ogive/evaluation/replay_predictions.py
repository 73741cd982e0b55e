"""Accuracy on all items, predicted from the items that were asked, and how surely.

A bank completes the score by its model, which knows nothing beyond the respondents it was
calibrated on. A respondent that may be stronger than all of them is predicted to lie between that
and where the curves of the items, extended beyond the range, place it. Fixed short forms are the
rival.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ogive._progress import Progress
from ogive.data.responses import Responses
from ogive.data.study_tables import Ints
from ogive.errors import InputError
from ogive.evaluation.item_choice import item_shares
from ogive.evaluation.score_prediction import bounds, full_cells, range_of
from ogive.evaluation.short_benchmark import OWN, STRONGER, ShortBenchmark, short_document
from ogive.evaluation.shortening import full_scores, shorten
from ogive.irt.adaptive.adaptive_test import AdaptiveTest
from ogive.irt.adaptive.rules import Budget
from ogive.irt.adaptive.simulation import asked_of_recorded
from ogive.irt.calibrating import calibrate
from ogive.irt.calibration import Calibration
from ogive.irt.models.base import MeasurementModel
from ogive.irt.replay_error import ADAPTIVE, FORM, RealError, ScoreRange
from ogive.stats.array_backend import Floats
from ogive.stats.intervals import normal_reach
from ogive.stats.metrics import COLUMNS

Errors = tuple[tuple[float, float], ...]  # by size: of random folds, and of the strongest tenth


def short_forms(
    table: Responses,
    sizes: tuple[int, ...],
    cv: int,
    confidence: float,
    seed: int,
    report: Progress,
) -> dict[int, ShortBenchmark]:
    """Return a short form of each size, judged on the folds; empty if there is none."""
    found = {}
    for k, size in enumerate(sizes):
        report(k, len(sizes), f"short form of {size}")
        try:
            found[size] = shorten(
                table, size, cv=cv, confidence=confidence, random_state=seed, progress=False
            )
        except InputError:  # such as too few different respondents
            return {}
    return found


def form_errors(forms: Mapping[int, ShortBenchmark]) -> Errors:
    """Return mean absolute errors of short forms, held out as the adaptive test is."""
    return tuple((_of(short, OWN)["mae"], _of(short, STRONGER)["mae"]) for short in forms.values())


def adaptive_errors(
    errors: pd.DataFrame, strongest: pd.DataFrame | None, sizes: tuple[int, ...]
) -> Errors:
    """Return mean absolute errors of the adaptive test, of all and of the strongest tenth."""
    found = []
    for size in sizes:
        own = errors[(errors["method"] == ADAPTIVE) & (errors["n_items"] == size)]
        best = float("nan")
        if strongest is not None:
            mine = strongest[(strongest["method"] == ADAPTIVE) & (strongest["n_items"] == size)]
            best = float((mine["accuracy"] - mine["truth"]).abs().mean())
        found.append((float(own["mae"].iloc[0]), best))
    return tuple(found)


def better_forms(
    forms: Mapping[int, ShortBenchmark], own: Errors, others: Errors
) -> dict[int, dict[str, Any]]:
    """Return short forms that beat the adaptive test, as their files have them.

    A new model is as likely like those seen as stronger, so both errors count the same, where both
    ways have been tried on stronger ones; otherwise the first decides.
    """
    # A difference is unknown where either error is.
    more = np.nanmean(np.subtract(own, others), axis=1)
    return {
        size: short_document(short)
        for (size, short), gain in zip(forms.items(), more, strict=True)
        if gain > 0
    }


def form_predictions(forms: Mapping[int, ShortBenchmark], confidence: float) -> pd.DataFrame:
    """Return one row per size and respondent, as for the other methods."""
    parts = [
        pd.DataFrame(
            {
                "method": FORM,
                "n_items": size,
                "respondent": short.respondents,
                "truth": short.accuracy,
                "accuracy": short.predicted,
                "accuracy_se": (short.high - short.low) / (2 * normal_reach(confidence)),
            }
        )
        for size, short in forms.items()
    ]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def form_rows(forms: Mapping[int, ShortBenchmark]) -> pd.DataFrame:
    """Return one row of errors per size; coverage is that of the short form's own intervals."""
    rows = []
    for size, short in forms.items():
        own = _of(short, OWN)
        figures = {name: own[name] for name in (*COLUMNS, "mae_low", "mae_high")}
        rows.append({"method": FORM, "n_items": size, **figures, "coverage_observed": np.nan})
    return pd.DataFrame(rows)


def _of(short: ShortBenchmark, role: str) -> dict[str, Any]:
    """Return the figures of a short form in one role; NaN if it was not tried."""
    roles = short.errors["role"]
    if role not in roles:
        return dict.fromkeys(short.errors, float("nan"))
    return {name: column[roles.index(role)] for name, column in short.errors.items()}


class Forecasts(NamedTuple):
    """Accuracy on all items, (n_respondents,) each."""

    accuracy: Floats
    se: Floats  # by the model
    bottom: Floats  # how low and high a respondent may stand beyond the range; NaN if it need not
    top: Floats  # be feared


def seen_range(bank: Calibration, table: Responses) -> ScoreRange:
    """Return accuracies of the respondents in a table, and curves of all items."""
    whole = table.select(items=list(bank.item_names))
    found = range_of(bank, whole, full_cells(bank, whole), full_scores(bank, whole))
    return ScoreRange.from_numbers(found.thinned())  # as a file holds it


def range_known(bank: Calibration, error: RealError | None) -> ScoreRange | None:
    """Return the accuracies that a bank was calibrated on, as far as it knows them."""
    if error is not None and error.within is not None:
        return error.range_of(bank.item_names)
    return None if bank.responses is None else seen_range(bank, bank.responses)


def forecast(
    bank: Calibration, within: ScoreRange | None, known: Responses, confidence: float
) -> Forecasts:
    """Return the accuracy on all items; `within` has the curves of those in `known`.

    Missing responses are items that were not asked.
    """
    found = bank.completed_scores(known)
    score, se = found["score"].to_numpy(), found["score_se"].to_numpy()
    if within is None:
        none = np.full(score.size, np.nan)
        return Forecasts(score, se, none, none)
    shares = item_shares(bank.of_items(known.items), known.values)
    placed = within.place(shares, confidence).scaled(*bounds(bank))
    return Forecasts(placed.raised(score), se, placed.bottom, placed.top)


def reached(
    error: RealError | None, asked: Ints, told: Forecasts, confidence: float
) -> tuple[Floats, Floats]:
    """Return how far intervals reach down and up, by the replay and beyond the range.

    `asked` (n_respondents,) are numbers of items. Without a replay, the model's errors are used.
    """
    down = up = normal_reach(confidence) * told.se
    if error is not None:
        rows = zip(asked.tolist(), told.accuracy.tolist(), told.se.tolist(), strict=True)
        down, up = np.array([error.reaches(*row, confidence) for row in rows]).T
    return np.fmax(down, told.accuracy - told.bottom), np.fmax(up, told.top - told.accuracy)


COMPLETED, PLAIN = "random items, completed", "random items, plain mean"
EXTREME = 0.1  # share of the models replayed as the weakest, and as the strongest
LEAST_KINDS = 4  # different models that a bank without an extreme needs
MOST_TIED = 0.4  # share of models; more with equal scores are no extreme
TOLD = ("accuracy", "accuracy_se", "bottom", "top")


class Part(NamedTuple):
    """A bank, and respondents that it was not calibrated on."""

    bank: Calibration
    responses: Responses
    rows: Ints  # their places in the whole table
    within: ScoreRange | None  # accuracies that the bank was calibrated on, if known


def predicted(parts: list[Part], settings: tuple[Any, ...], report: Progress) -> pd.DataFrame:
    """Return one row per method, number of items and respondent: prediction and truth."""
    steps, selector, batch_size, confidence, seed = settings
    frames = []
    for k, part in enumerate(parts):
        report(len(parts) + k, 2 * len(parts), f"fold {k + 1} of {len(parts)}")
        truth = part.bank.completed_scores(part.responses, items_known=True)["score"].to_numpy()
        for method, how, at_once in (
            (ADAPTIVE, selector, batch_size),
            (COMPLETED, "random", 1),
        ):
            test = AdaptiveTest(
                part.bank, selector=how, stopper=Budget(max(steps)), random_state=seed
            )
            asked = asked_of_recorded(test, part.responses, max(steps), at_once)
            for size in steps:
                known = {"n_items": size, "respondent": part.responses.respondents}
                known |= {"row": part.rows, "truth": truth}
                told = {method: _completed(part, asked[:, :size], confidence)}
                if method == COMPLETED:
                    told[PLAIN] = _plain(part, asked[:, :size])
                for name, found in told.items():
                    columns = {"method": name, **known}
                    columns |= dict(zip(TOLD, found, strict=True))
                    frames.append(pd.DataFrame(columns))
    whole = pd.concat(frames, ignore_index=True)
    order = pd.Categorical(whole["method"], [ADAPTIVE, COMPLETED, PLAIN], ordered=True)
    whole = whole.assign(order=order).sort_values(["order", "n_items", "row"], kind="stable")
    return whole.drop(columns="order").reset_index(drop=True)


def _answers(part: Part, asked: Ints) -> Floats:
    """Return recorded responses to the items asked, (n, k)."""
    placed = part.bank.placed(part.responses)
    found: Floats = np.take_along_axis(placed, asked, axis=1).astype(float)
    return found


def _completed(part: Part, asked: Ints, confidence: float) -> Forecasts:
    values = np.full((len(asked), len(part.bank.item_names)), np.nan)
    np.put_along_axis(values, asked, _answers(part, asked), axis=1)
    known = Responses(values, items=part.bank.item_names, kind=part.bank.model.kind)
    return forecast(part.bank, part.within, known, confidence)


def _plain(part: Part, asked: Ints) -> Forecasts:
    """Return mean, and its standard error for a sample without replacement from all items."""
    values, size = _answers(part, asked), asked.shape[1]
    rest = 1 - size / len(part.bank.item_names)
    spread = values.std(axis=1, ddof=1) if size > 1 else np.full(len(values), np.nan)
    none = np.full(len(values), np.nan)
    return Forecasts(values.mean(axis=1), spread * np.sqrt(rest / size), none, none)


def part_without(table: Responses, rows: Ints, model: str | MeasurementModel) -> Part:
    """Return some respondents, and a bank from the others."""
    others = table.select(respondents=np.setdiff1d(np.arange(table.n_respondents), rows))
    bank = calibrate(others, model)
    return Part(bank, table.select(respondents=rows), rows, seen_range(bank, others))


def extremes(
    table: Responses, groups: Ints, model: str | MeasurementModel, settings: tuple[Any, ...]
) -> tuple[pd.DataFrame | None, pd.DataFrame | None]:
    """Return predictions for the weakest tenth and for the strongest, each by a bank from the rest.

    None if too many tie, or too few are left.
    """
    asked = np.nanmean(table.values, axis=1)
    found: list[pd.DataFrame | None] = []
    for score in (-asked, asked):
        count = max(1, int(EXTREME * score.size))
        part = score >= np.sort(score)[-count]
        enough = np.unique(groups[~part]).size >= LEAST_KINDS
        if part.mean() > MOST_TIED or not enough:
            found.append(None)
            continue
        rows = np.flatnonzero(part)
        held = part_without(table, rows, model)
        found.append(predicted([held], settings, lambda *_: None))
    return found[0], found[1]
