"""AdaptiveEvaluation: what a few items say about a model, and predict for all items.

Intervals of the accuracy on all items come from the model, or from the error found in a replay.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.arguments import one_of
from ogive.calibration import Calibration
from ogive.calibration.replayed_error import RealError
from ogive.errors import InputError
from ogive.numerics.arrays import Floats
from ogive.numerics.intervals import normal_reach
from ogive.numerics.score_range import ScoreRange
from ogive.responses import Responses
from ogive.results import Result
from ogive.studies.evaluation.adaptive_forecasts import forecast, range_known, reached
from ogive.words import counted, listed, mean_called

if TYPE_CHECKING:
    import pandas as pd

    from ogive.displays import Display
    from ogive.shortening.short_benchmark import ShortBenchmark
    from ogive.studies.evaluation.course import Course

FIGURES = ("trace",)


@dataclass(frozen=True, eq=False, repr=False)
class AdaptiveEvaluation(Result):
    """Ability of a model from a few items, and its predicted accuracy on all of them.

    `accuracy` is the mean response over all items of the bank, also for grades and scores.
    `ability_se` counts the responses and the errors of the bank. `trace` has one row per response:
    step, item, response, and the estimates after it: `ability` with `ability_se`, and `accuracy`
    with `accuracy_se` and its interval from `accuracy_low` to `accuracy_high`. There, `ability_se`
    counts the responses alone, as stopping rules do: asking more does not improve the bank.
    """

    respondent: str
    trace: pd.DataFrame
    ability: float
    ability_se: float
    accuracy: float
    accuracy_se: float
    accuracy_low: float
    accuracy_high: float
    confidence: float
    skipped: tuple[str, ...]  # items that could not be answered
    reason: str
    n_items: int
    word: str  # name of the accuracy in sentences
    notes: tuple[str, ...] = ()

    @property
    def items(self) -> tuple[str, ...]:
        """Items that were answered, in the order in which they were asked."""
        return tuple(self.trace["item"])

    @property
    def saved(self) -> int:
        """Items of the bank that did not have to be asked."""
        return self.n_items - len(self.trace) - len(self.skipped)

    @property
    def meaning(self) -> str:
        """Predicted accuracy and ability with their intervals, and how many items were asked."""
        reach = normal_reach(self.confidence) * self.ability_se
        ends = f"{self.ability - reach:.2f} to {self.ability + reach:.2f}"
        return (
            f"{self.respondent} answered {len(self.trace):,} of {counted(self.n_items, 'item')} "
            f"({self.reason}). Its predicted {self.word} on all of them is {self.accuracy:.3f} "
            f"({self.confidence:.0%} interval {self.accuracy_low:.3f} to "
            f"{self.accuracy_high:.3f}), and its ability is {self.ability:.2f} ({ends}). "
            f"{counted(self.saved, 'item')} did not have to be asked."
        )

    def to_frame(self) -> pd.DataFrame:
        """One row per response."""
        return self.trace.copy()

    def plot(self, kind: str = "trace", **kw: Any) -> Display:
        """Draw predicted accuracy and ability after each response."""
        import pandas as pd

        from ogive.displays import DISPLAYS

        one_of(kind, "kind", FIGURES)
        if self.trace.empty:
            raise InputError("No item was answered, so there is no trace to draw.")
        trace, reach = self.trace, normal_reach(self.confidence) * self.trace["ability_se"]
        ends = (trace["accuracy_low"], trace["accuracy_high"])
        parts = {
            f"predicted {self.word}": (trace["accuracy"], *ends),
            "ability": (trace["ability"], trace["ability"] - reach, trace["ability"] + reach),
        }
        frames = [
            pd.DataFrame(dict(zip(("estimate", "low", "high"), columns, strict=True))).assign(
                panel=name, series=self.respondent, x=trace["step"]
            )
            for name, columns in parts.items()
        ]
        frame = pd.concat(frames)
        bands: Any = DISPLAYS["bands"]
        display: Display = bands(frame, across="items answered")
        return display.plot(**kw)


def evaluation_of(course: Course) -> AdaptiveEvaluation:
    """Gather the result of an evaluation that is over."""
    bank, session = course.calibration, course.session
    trace = session.trace.rename(columns={"se": "ability_se"})
    told = _accuracies(course, trace)
    last = {str(name): float(value) for name, value in told.iloc[-1].items()}
    steps = told.iloc[1:].reset_index(drop=True)
    return AdaptiveEvaluation(
        respondent=course.respondent,
        trace=trace.assign(**{str(name): steps[name] for name in steps}),
        ability=session.ability,
        ability_se=_with_items(course, session.se),
        **last,
        confidence=course.confidence,
        skipped=session.skipped,
        reason=course.reason,
        n_items=len(bank.item_names),
        word=mean_called(bank.model.kind),
        notes=_notes(course),
    )


def _with_items(course: Course, se: float) -> float:
    """The error of the ability with what is not known of the bank: asking does not reduce that."""
    bank, trace = course.calibration, course.session.trace
    if trace.empty:
        return se
    responses = trace["response"].to_numpy(dtype=float)[None]
    known = Responses(responses, items=list(trace["item"]), kind=bank.model.kind)
    whole, alone = (
        float(bank.score(known, items_known=given)["se"].iloc[0]) for given in (False, True)
    )
    return float(np.sqrt(se**2 + max(whole**2 - alone**2, 0.0)))


def _accuracies(course: Course, trace: pd.DataFrame) -> pd.DataFrame:
    """Accuracy on all items, with its interval, after 0, 1, ... responses."""
    import pandas as pd

    bank, count = course.calibration, len(trace)
    given = trace["response"].to_numpy(dtype=float)
    seen = np.tril(np.ones((count + 1, count), dtype=bool), -1)
    asked = list(trace["item"]) or [bank.item_names[0]]
    values = np.where(seen, given, np.nan) if count else np.full((1, 1), np.nan)
    known = Responses(values, items=asked, kind=bank.model.kind)
    if course.form is not None:
        mean, error, down, up = _by_form(course.form, known)
    else:
        told = forecast(bank, _range(course, asked), known, course.confidence)
        mean, error = told.accuracy, told.se
        down, up = reached(course.error, np.arange(count + 1), told, course.confidence)
    places = np.array([course.session.test.items.place_of[name] for name in trace["item"]], int)
    least, most = zip(
        *(possible_scores(bank, places[:k], given[:k]) for k in range(count + 1)), strict=True
    )
    return pd.DataFrame(
        {
            "accuracy": mean,
            "accuracy_se": error,
            "accuracy_low": np.maximum(mean - down, least),
            "accuracy_high": np.minimum(mean + up, most),
        }
    )


def _range(course: Course, asked: list[str]) -> ScoreRange | None:
    """The accuracies that the bank was calibrated on, with the curves of the items asked."""
    bank, place = course.calibration, course.session.test.items.place_of
    found = range_known(bank, course.error)
    return None if found is None else found.part(np.array([place[name] for name in asked]))


def _by_form(form: ShortBenchmark, known: Responses) -> tuple[Floats, Floats, Floats, Floats]:
    """Accuracy by a short form: its standard error is that of a normal interval as wide."""
    found = form.predict(known)
    mean, low, high = (found[f"accuracy{end}"].to_numpy() for end in ("", "_low", "_high"))
    error = (high - low) / (2 * normal_reach(form.confidence))
    return mean, error, mean - low, high - mean


def _notes(course: Course) -> tuple[str, ...]:
    notes = []
    if course.error is not None and (said := course.error.said_of(course.budget)):
        notes.append(said)
    if course.error is not None and not np.isfinite(course.error.reach(1, course.confidence)):
        notes.append(
            f"Too few models were replayed for a {course.confidence:.0%} interval: it spans all "
            "accuracies that are possible."
        )
    if course.session.skipped:
        lost = listed(course.session.skipped, "item")
        notes.append(
            f"{lost} could not be answered; they count towards the budget, but not as wrong."
        )
    if course.recovered:
        notes.append(f"{counted(course.recovered, 'item')} came from the journal.")
    if course.error is None:
        word = mean_called(course.calibration.model.kind)
        notes.append(
            f"The interval of the {word} comes from the model and is too narrow if one ability "
            "does not explain all items. Use replay_adaptively(responses).bank, which carries the "
            "error that a replay has found."
        )
    return tuple(notes)


def as_real_error(given: Any) -> RealError | None:
    """Return the error itself, or that of a replay."""
    if given is None:
        return None
    found = getattr(given, "real_error", given)
    if not isinstance(found, RealError):
        raise InputError(
            f"error is {type(given).__name__}, but it should be what replay_adaptively() returns."
        )
    return found


def possible_scores(bank: Calibration, items: Any, values: Floats) -> tuple[Floats, Floats]:
    """Lowest and highest mean over all items that are possible given known responses.

    `items` (..., k) are places in the bank, `values` (..., k) the responses to them.
    """
    low, high = (np.broadcast_to(end, len(bank.item_names)) for end in bank.model.extent())
    count = len(bank.item_names)
    lowest: Floats = ((values - low[items]).sum(axis=-1) + low.sum()) / count
    highest: Floats = ((values - high[items]).sum(axis=-1) + high.sum()) / count
    return lowest, highest
