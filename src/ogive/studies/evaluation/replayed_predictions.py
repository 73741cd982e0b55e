"""What replayed evaluations predict: accuracy on all items from the items asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ogive.adaptive import AdaptiveTest, Budget, asked_of_recorded
from ogive.calibration import Calibration
from ogive.calibration.replayed_error import ADAPTIVE
from ogive.estimation import calibrate
from ogive.models import MeasurementModel
from ogive.numerics.arrays import Floats
from ogive.numerics.score_range import ScoreRange
from ogive.progress import Progress
from ogive.responses import Responses
from ogive.responses.study_tables import Ints
from ogive.studies.evaluation.adaptive_forecasts import Forecasts, forecast, seen_range

if TYPE_CHECKING:
    import pandas as pd

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
    """One row per method, number of items and respondent: prediction and truth."""
    import pandas as pd

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
    """Recorded responses to the items asked, (n, k)."""
    placed = part.bank.placed(part.responses)
    found: Floats = np.take_along_axis(placed, asked, axis=1).astype(float)
    return found


def _completed(part: Part, asked: Ints, confidence: float) -> Forecasts:
    values = np.full((len(asked), len(part.bank.item_names)), np.nan)
    np.put_along_axis(values, asked, _answers(part, asked), axis=1)
    known = Responses(values, items=part.bank.item_names, kind=part.bank.model.kind)
    return forecast(part.bank, part.within, known, confidence)


def _plain(part: Part, asked: Ints) -> Forecasts:
    """Mean, and its standard error for a sample without replacement from all items."""
    values, size = _answers(part, asked), asked.shape[1]
    rest = 1 - size / len(part.bank.item_names)
    spread = values.std(axis=1, ddof=1) if size > 1 else np.full(len(values), np.nan)
    none = np.full(len(values), np.nan)
    return Forecasts(values.mean(axis=1), spread * np.sqrt(rest / size), none, none)


def part_without(table: Responses, rows: Ints, model: str | MeasurementModel) -> Part:
    """Some respondents, and a bank from the others."""
    others = table.select(respondents=np.setdiff1d(np.arange(table.n_respondents), rows))
    bank = calibrate(others, model)
    return Part(bank, table.select(respondents=rows), rows, seen_range(bank, others))


def extremes(
    table: Responses, groups: Ints, model: str | MeasurementModel, settings: tuple[Any, ...]
) -> tuple[pd.DataFrame | None, pd.DataFrame | None]:
    """Predictions for the weakest tenth and for the strongest, each by a bank from the rest.

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
