"""Replay adaptive evaluation on models whose answers to all items are known.

The errors of its predictions widen the intervals of later evaluations; a bank can carry them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ogive._progress import Progress, telling
from ogive._validation import checked_share, one_of, whole_number
from ogive.data.responses import Responses, Table, as_responses
from ogive.data.study_tables import (
    TASK,
    Ints,
    answered,
    check_linked,
    copies,
    grouped_folds,
    groups_of,
    one_try,
    said_of_folds,
    said_of_raw_units,
)
from ogive.errors import InputError
from ogive.evaluation.replay_predictions import (
    EXTREME,
    Part,
    adaptive_errors,
    better_forms,
    extremes,
    form_errors,
    form_predictions,
    form_rows,
    part_without,
    predicted,
    range_known,
    seen_range,
    short_forms,
)
from ogive.irt.adaptive.adaptive_test import AdaptiveTest
from ogive.irt.adaptive.rules import Budget
from ogive.irt.adaptive.selectors import Selector
from ogive.irt.calibrating import calibrate, model_of_choices
from ogive.irt.calibration import Calibration
from ogive.irt.models import AUTO, find_model
from ogive.irt.models.base import MeasurementModel
from ogive.irt.replay_error import ADAPTIVE, FORM, RealError
from ogive.results.base import Draw, Result
from ogive.results.numbers import counted, mean_called
from ogive.stats.array_backend import Floats
from ogive.stats.intervals import conformal_quantile, conformal_rank, normal_reach, reach_of_parts
from ogive.stats.metrics import mean_error_ends, prediction_error

if TYPE_CHECKING:
    from ogive.evaluation.short_benchmark import ShortBenchmark
    from ogive.results.plots.figure import Display

__all__ = ["AdaptiveReplay", "replay_adaptively"]


def summed_up(
    predictions: pd.DataFrame, widened: str, groups: Ints, fold: Ints, confidence: float
) -> tuple[pd.DataFrame, tuple[float, ...], tuple[Floats, ...]]:
    """Return one row per method and size, with floors and misses of the method `widened`.

    Respondents of one group count as one for standard errors. Coverage of the widened intervals is
    measured on each `fold` with the misses of the others.
    """
    rows, floors, misses, reach = [], [], [], normal_reach(confidence)
    for (method, items), part in predictions.groupby(["method", "n_items"], sort=False):
        found = part.sort_values("row")
        value, se, truth = (found[name].to_numpy() for name in ("accuracy", "accuracy_se", "truth"))
        figures = prediction_error(value, truth, groups, reach * se)
        row = {"method": method, "n_items": items, **figures, "coverage_observed": np.nan}
        if method == widened:
            floors.append(float(se.mean()))
            missed = _missed(value - truth, se + floors[-1])
            misses.append(missed)
            row["coverage_observed"] = _held(missed, fold, confidence)
        rows.append(row)
    return pd.DataFrame(rows), tuple(floors), tuple(misses)


def side_misses(
    side: pd.DataFrame | None, sizes: tuple[int, ...], floors: tuple[float, ...]
) -> tuple[Floats, ...]:
    """Return misses of an extreme by size; nothing if it was not replayed."""
    if side is None:
        return ()
    mine = side[side["method"] == ADAPTIVE]
    parts = [mine[mine["n_items"] == size] for size in sizes]
    return tuple(
        _missed(
            (part["accuracy"] - part["truth"]).to_numpy(), part["accuracy_se"].to_numpy() + floor
        )
        for part, floor in zip(parts, floors, strict=True)
    )


def _missed(error: Floats, se: Floats) -> Floats:
    """Return the error in standard errors; 0 if the prediction is exact and its error 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Floats = np.where(np.abs(error) > 1e-12, np.abs(error) / se, 0.0)
    return found


def _held(missed: Floats, fold: Ints, confidence: float) -> float:
    """Return coverage of intervals by the misses of the other folds.

    NaN if there are too few others for an interval.
    """
    held = np.zeros(missed.size, dtype=bool)
    for k in np.unique(fold):
        reach = conformal_quantile(missed[fold != k], confidence)
        if not np.isfinite(reach):
            return float("nan")
        held[fold == k] = missed[fold == k] <= reach
    return float(held.mean())


SIZES = (5, 10, 25, 50)
METHODS = (AUTO, ADAPTIVE)
FIGURES = {"mae": "mean absolute error", "coverage": "share of intervals that cover the truth"}


@dataclass(frozen=True, eq=False, repr=False)
class AdaptiveReplay(Result):
    """How well a few items predict the accuracy on all of them, for held-out models.

    Accuracy is the mean response, also for grades and scores. `errors` has one row per method and
    number of items: `mae`, `rmse`, `bias` with standard errors, agreement of ranks, `coverage` and
    `width` of the model's intervals, and for the adaptive method `coverage_observed` of intervals
    widened by the error in other folds. `predictions` has one row per method, number of items and
    respondent. `bank` is calibrated on all models of the source and carries the error found, also
    in its file: evaluations with it have intervals that are as wide as necessary.
    """

    errors: pd.DataFrame
    predictions: pd.DataFrame
    real_error: RealError
    bank: Calibration
    confidence: float
    n_respondents: int
    n_parts: int  # folds, each with a bank of its own; without folds, models that differ
    n_items: int
    notes: tuple[str, ...] = ()

    @property
    def meaning(self) -> str:
        """The error of the longest test, compared with the best other way, and coverage."""
        rows = self.errors[self.errors["n_items"] == self.errors["n_items"].max()]
        rows = rows.set_index("method")
        own, others = rows.loc[ADAPTIVE], rows.drop(index=ADAPTIVE)
        word = mean_called(self.bank.model.kind)
        held, widened = f"{own['coverage']:.0%}", own["coverage_observed"]
        tail = f"; widened by the observed error, {widened:.0%} do" if widened == widened else ""
        return (
            f"After {counted(int(own['n_items']), 'item')} of {self.n_items:,}, the {word} on "
            f"all of them is predicted with a mean absolute error of {self._off(own)}; "
            f"{self._said_of_rival(others)}. {held} of the model's {self.confidence:.0%} "
            f"intervals cover the true {word}{tail}.{self._said_of_forms(int(own['n_items']))}"
        )

    def _said_of_rival(self, others: pd.DataFrame) -> str:
        """Return how the best of the other ways does with as many items, and whether it is beaten.

        It is the best because it was chosen, so it is tested as one of all others (Bonferroni).
        """
        at = int(others["mae"].argmin())
        name, best = str(others.index[at]), others.iloc[at]
        away = (self.predictions["accuracy"] - self.predictions["truth"]).abs()
        mine = self.predictions["n_items"] == best["n_items"]
        off = self.predictions.assign(away=away)[mine].pivot_table(
            index="respondent", columns="method", values="away"
        )
        off = off[[name, ADAPTIVE]].dropna().drop_duplicates()  # copies of a model say it once
        gain = off[name] - off[ADAPTIVE]
        reach = self._reach(1 - (1 - self.confidence) / len(others))
        sure = abs(gain.mean()) > reach * gain.std() / np.sqrt(len(gain))
        verdict = "significantly" if sure else "not significantly"
        side = "more" if gain.mean() >= 0 else "less"
        what = "other way" if len(others) == 1 else f"best of {len(others)} other ways"
        return f"the {what} with as many ({name}) is off by {self._off(best)}, {verdict} {side}"

    def _off(self, row: pd.Series[Any]) -> str:
        """Return the mean absolute error in a sentence; alone if it has no standard error."""
        known = row["mae_high"] == row["mae_high"]
        ends = f" ({row['mae_low']:.3f} to {row['mae_high']:.3f})" if known else ""
        return f"{row['mae']:.3f}{ends}"

    def _reach(self, confidence: float) -> float:
        """Return standard errors each way of an interval of a mean error, as `shorten` has them.

        Errors within a fold share what was learned, so that a mean over them is as uncertain as
        one over so many folds.
        """
        return reach_of_parts(self.n_parts, confidence)

    def _said_of_forms(self, size: int) -> str:
        """Return which of both ways is better; empty if short forms were not compared."""
        said = self.real_error.said_of(size)
        return f" {said}" if said else ""

    def to_frame(self) -> pd.DataFrame:
        """Return one row per method and number of items."""
        return self.errors.copy()

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the errors by method and number of items, and each prediction."""
        both = {"errors": self.errors, "predictions": self.predictions}
        return {name: frame.set_index("method") for name, frame in both.items()}

    def figures(self) -> dict[str, Draw]:
        """Return one figure per kind."""
        return {kind: partial(self.plot, kind) for kind in FIGURES}

    def preview(self) -> pd.DataFrame:
        """Return errors and coverage."""
        names = ["mae", "mae_low", "mae_high", "spearman", "coverage", "coverage_observed"]
        return self.errors[["method", "n_items", *names]].set_index("method")

    def plot(self, kind: str = "mae", **kw: Any) -> Display:
        """Draw the mean absolute error by number of items, "mae", or "coverage" of intervals."""
        from ogive.results.plots import DISPLAYS

        value = one_of(kind, "kind", FIGURES)
        frame = self.errors.rename(columns={"method": "series", "n_items": "x"})
        reach = self._reach(self.confidence) * frame[f"{value}_se"]
        most = 1.0 if value == "coverage" else _largest_error(self.bank)
        ends = {
            "low": (frame[value] - reach).clip(lower=0.0),
            "high": (frame[value] + reach).clip(upper=most),
        }
        frame = frame.assign(panel=FIGURES[value], estimate=frame[value], **ends)
        bands: Any = DISPLAYS["bands"]
        display: Display = bands(frame.dropna(subset="estimate"), across="items asked")
        return display.plot(**kw)


def replay_adaptively(
    source: Calibration | Table,
    responses: Table | None = None,
    *,
    sizes: Sequence[int] = SIZES,
    method: str = AUTO,
    selector: Selector | str = "score",
    model: str | MeasurementModel = AUTO,
    cv: int = 5,
    batch_size: int = 1,
    confidence: float = 0.95,
    random_state: int = 0,
    progress: Progress | bool = True,
) -> AdaptiveReplay:
    """Evaluate recorded models adaptively, and compare with their accuracy on all items.

    `source` is a bank, and `responses` are those of models that it was not calibrated on; or
    `source` holds responses, from which a bank is calibrated (`model`, as in `calibrate`; but for
    right or wrong responses "auto" is "3pl" with 100 respondents or more, since items can be
    guessed, "2pl" with fewer, since items are chosen by their discrimination, and "1pl" below 30).
    Without `responses`, the respondents of the source are divided into `cv` folds, and each fold is
    replayed with a bank from the others. Respondents with equal responses stay in one fold.
    Respondents with fewer responses than the largest of `sizes` are left out.

    The `selector` is compared with random items, completed by the model and as a plain mean.
    `evaluate_adaptively(result.bank, ...)` has intervals that allow for the errors found. From one
    table, the strongest tenth and the weakest are also replayed with a bank from the rest, so that
    intervals hold for models stronger or weaker than any in the bank; and with the `method` "auto",
    fixed short forms (`shorten`) are judged on the same models. The bank carries those that are
    better than the adaptive test, and `evaluate_adaptively` then asks them. "adaptive" leaves the
    short forms out.

    The frame, also `errors`, has one row per method and number of items: mae, rmse, bias, each with
    its standard error, rank_correlation, coverage. `batch_size` and `confidence` are those of
    `evaluate_adaptively`; `random_state` is the seed of the folds. `progress` is True (a bar in a
    terminal or a notebook), False, or a callable of (done, total, message).

    >>> import ogive as og
    >>> table = og.simulate("2pl", 300, 60, random_state=0).responses
    >>> found = og.replay_adaptively(table, sizes=[5, 10], cv=2)
    >>> found.errors["mae"].round(2).head(2).tolist()
    [0.09, 0.07]
    """
    checked_share(confidence, "confidence", 0.95)
    one_of(method, "method", METHODS)
    whole_number(cv, "cv", 2)
    whole_number(batch_size, "batch_size", 1)
    whole_number(random_state, "random_state", 0)
    recorded, notes = _table(source, responses)
    table, drawn = one_try(recorded, random_state)
    steps = _checked_sizes(sizes, table.n_items)
    table, left_out = _long_enough(table, max(steps))
    chosen, picked = _model(source, responses, table, model)
    groups = copies(table)
    held_out = responses is not None or isinstance(source, Calibration)
    alone = held_out and np.unique(groups).size < 2
    fold = np.zeros_like(groups) if alone else grouped_folds(groups, cv, random_state)
    settings = steps, selector, batch_size, confidence, random_state
    with telling(progress, "Replaying") as told:
        count = 1 if held_out else int(fold.max()) + 1
        whole = 2 * count + (len(steps) if method == AUTO and not held_out else 0)

        def report(done: int, _: int | None, message: str) -> None:
            told(done, whole, message)

        parts = list(_parts(source, responses, table, fold, chosen, report))
        predictions = predicted(parts, settings, report)
        bank, within = parts[0].bank, parts[0].within
        sides: tuple[pd.DataFrame | None, pd.DataFrame | None] = (None, None)
        forms: dict[int, ShortBenchmark] = {}
        if not held_out:
            bank = calibrate(recorded.select(respondents=table.respondents), chosen)
            within = seen_range(bank, table)
            sides = extremes(table, groups, chosen, settings)
            if method == AUTO:
                forms = short_forms(
                    table, steps, cv, confidence, random_state, partial(_after, report, 2 * count)
                )
    errors, floors, misses = summed_up(predictions, ADAPTIVE, groups, fold, confidence)
    way = repr(AdaptiveTest(bank, selector=selector, stopper=Budget(1)).parts.selector)
    truth = predictions.loc[predictions["method"] == ADAPTIVE, "truth"].to_numpy()
    low, high = (float(edge) for edge in np.quantile(truth, [EXTREME, 1 - EXTREME]))
    weak, strong = (side_misses(side, steps, floors) for side in sides)
    own, others = adaptive_errors(errors, sides[1], steps), form_errors(forms)
    error = RealError(
        items=bank.item_names,
        selector=way,
        sizes=steps,
        floors=floors,
        misses=misses,
        edges=(low, high),
        weakest=weak,
        strongest=strong,
        within=within,
        compared={ADAPTIVE: own, **({FORM: others} if forms else {})},
        forms=better_forms(forms, own, others) if forms else {},
    )
    shown = predictions.drop(columns=["row", "bottom", "top"])
    n_parts = np.unique(groups).size if held_out else count
    off, se = (errors[name].to_numpy(dtype=float) for name in ("mae", "mae_se"))
    errors["mae_low"], errors["mae_high"] = mean_error_ends(off, se, n_parts, confidence)
    errors = pd.concat([errors, form_rows(forms)], ignore_index=True)
    errors["mae_high"] = errors["mae_high"].clip(upper=_largest_error(bank))
    return AdaptiveReplay(
        errors=errors,
        predictions=pd.concat([shown, form_predictions(forms, confidence)], ignore_index=True),
        real_error=error,
        bank=replace(bank, replayed=error),
        confidence=confidence,
        n_respondents=table.n_respondents,
        n_parts=n_parts,
        n_items=len(bank.item_names),
        notes=(
            *(*notes, *drawn, *left_out, *picked, *said_of_folds(groups, cv)),
            *said_of_raw_units(table, groups_of(table, TASK, TASK, "task")),
            *_too_few(groups.size, confidence),
        ),
    )


def _largest_error(bank: Calibration) -> float:
    """Return how far apart two means over all items can be: 1 for right and wrong responses."""
    low, high = (float(np.mean(end)) for end in bank.model.extent())
    return high - low


def _after(report: Progress, count: int, done: int, total: int | None, message: str) -> None:
    report(count + done, total, message)


def _table(source: Any, responses: Table | None) -> tuple[Responses, tuple[str, ...]]:
    """Return the responses to replay, and notes on them."""
    if isinstance(source, Calibration):
        if responses is None:
            raise InputError(
                "A bank alone cannot be replayed. Give responses of models that it was not "
                "calibrated on, or pass responses instead of the bank for cross-validation."
            )
        table = as_responses(responses, source.model.kind)
        return table, ("The bank is assumed to have been calibrated on models other than these.",)
    whole = as_responses(source)
    if responses is not None:
        return as_responses(responses, whole.kind), ()
    known = answered(whole)
    check_linked(known.table, "a replay")
    return known.table, known.notes


def _checked_sizes(sizes: Sequence[int], n_items: int) -> tuple[int, ...]:
    """Return sizes in ascending order, each smaller than the bank."""
    if isinstance(sizes, str) or not hasattr(sizes, "__iter__"):
        raise InputError(
            f"`sizes` must be a list of numbers of items, such as [5, 10], got {sizes!r}."
        )
    found = sorted({whole_number(size, "sizes", 1) for size in sizes})
    kept = tuple(size for size in found if size < n_items)
    if not kept:
        raise InputError(
            f"sizes is {list(sizes)}, but there are {n_items:,} items. Give at least one smaller "
            "number: with all items asked, nothing is left to predict."
        )
    return kept


def _long_enough(table: Responses, most: int) -> tuple[Responses, tuple[str, ...]]:
    """Return respondents with at least `most` responses, and notes."""
    asked = table.observed.sum(axis=1)
    enough = asked >= most
    if not enough.any():
        raise InputError(
            f"No respondent has {most} responses; the most is {asked.max():,}. Give smaller sizes."
        )
    notes = []
    if not enough.all():
        fewer = counted(int((~enough).sum()), "respondent")
        notes.append(f"Left out (fewer than {most} responses): {fewer}.")
        table = table.select(respondents=enough)
    if not table.complete:
        notes.append("For respondents with missing responses, the truth is itself a prediction.")
    return table, tuple(notes)


def _parts(
    source: Any,
    responses: Table | None,
    table: Responses,
    fold: Ints,
    model: str | MeasurementModel,
    report: Progress,
) -> Iterator[Part]:
    """Yield banks, each with held-out respondents."""
    if isinstance(source, Calibration):
        within = range_known(source, source.replayed)
        yield Part(source, table, np.arange(table.n_respondents), within)
        return
    if responses is not None:
        known = as_responses(source)
        bank = calibrate(known, model)
        yield Part(bank, table, np.arange(table.n_respondents), seen_range(bank, known))
        return
    count = int(fold.max()) + 1
    for k in range(count):
        report(k, 2 * count, f"bank {k + 1} of {count}")
        yield part_without(table, np.flatnonzero(fold == k), model)


def bank_from(responses: Responses, model: str | MeasurementModel = AUTO) -> Calibration:
    """Calibrate a bank as replays do: for right or wrong responses, "auto" allows for guessing."""
    return calibrate(responses, model_of_choices(model, responses)[0])


def _model(
    source: Any, responses: Table | None, table: Responses, model: str | MeasurementModel
) -> tuple[str | MeasurementModel, list[str]]:
    """Return the model of the bank, and notes on it; a bank already has one.

    It has the grades and bounds of all that is replayed: some are seen in no other fold.
    """
    if isinstance(source, Calibration):
        return AUTO, []
    chosen, picked = model_of_choices(model, table)
    if responses is not None:
        return chosen, picked
    return find_model(chosen).fitted_to(table.cells, table.items), picked


def _too_few(n_respondents: int, confidence: float) -> list[str]:
    if conformal_rank(n_respondents, confidence) <= n_respondents:
        return []
    note = (
        f"There are too few respondents ({n_respondents:,}) for {confidence:.0%} intervals by the "
        "observed error: those of evaluations with this bank that allow for it span all possible "
        "values."
    )
    return [note]


def replayed_bank(
    bank: Calibration,
    budget: int,
    *,
    selector: Selector | str,
    batch_size: int,
    confidence: float,
    random_state: int,
) -> Calibration:
    """Return the bank, with the error of a replay of the models that it was calibrated on.

    A bank from a file has no responses, and a few models cannot be replayed: it stays as it is.
    """
    if bank.replayed is not None or bank.responses is None or budget >= len(bank.item_names):
        return bank
    try:
        found = replay_adaptively(
            bank.responses,
            sizes=[budget],
            selector=selector,
            model=bank.model,
            batch_size=batch_size,
            confidence=confidence,
            random_state=random_state,
            progress=False,
        )
    except InputError:
        return bank
    return replace(bank, replayed=found.real_error)
