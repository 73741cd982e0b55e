"""What replayed evaluations predict: accuracy on all items from the items asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from itemwise.adaptive import AdaptiveTest, Budget, asked_of_recorded
from itemwise.calibration import Calibration
from itemwise.estimation import calibrate
from itemwise.models import MeasurementModel
from itemwise.numerics.arrays import Floats
from itemwise.progress import Progress
from itemwise.responses import Responses
from itemwise.responses.study_tables import Ints

if TYPE_CHECKING:
    import pandas as pd

ADAPTIVE, COMPLETED, PLAIN = "adaptive", "random items, completed", "random items, plain mean"
EXTREME = 0.1  # share of the models replayed as the weakest, and as the strongest
LEAST_KINDS = 4  # different models that a bank without an extreme needs
MOST_TIED = 0.4  # share of models; more with equal scores are no extreme


class Part(NamedTuple):
    """A bank, and respondents that it was not calibrated on."""

    bank: Calibration
    responses: Responses
    rows: Ints  # their places in the whole table


def predicted(parts: list[Part], settings: tuple[Any, ...], report: Progress) -> pd.DataFrame:
    """One row per method, number of items and respondent: prediction and truth."""
    import pandas as pd

    steps, selector, batch_size, seed = settings
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
                told = {method: _completed(part, asked[:, :size])}
                if method == COMPLETED:
                    told[PLAIN] = _plain(part, asked[:, :size])
                for name, (value, se) in told.items():
                    columns = {"method": name, **known, "accuracy": value, "accuracy_se": se}
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


def _completed(part: Part, asked: Ints) -> tuple[Floats, Floats]:
    values = np.full((len(asked), len(part.bank.item_names)), np.nan)
    np.put_along_axis(values, asked, _answers(part, asked), axis=1)
    known = Responses(values, items=part.bank.item_names, kind=part.bank.model.kind)
    found = part.bank.completed_scores(known)
    return found["score"].to_numpy(), found["score_se"].to_numpy()


def _plain(part: Part, asked: Ints) -> tuple[Floats, Floats]:
    """Mean, and its standard error for a sample without replacement from all items."""
    values, size = _answers(part, asked), asked.shape[1]
    rest = 1 - size / len(part.bank.item_names)
    spread = values.std(axis=1, ddof=1) if size > 1 else np.full(len(values), np.nan)
    return values.mean(axis=1), spread * np.sqrt(rest / size)


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
        bank = calibrate(table.select(respondents=~part), model)
        held = Part(bank, table.select(respondents=rows), rows)
        found.append(predicted([held], settings, lambda *_: None))
    return found[0], found[1]
