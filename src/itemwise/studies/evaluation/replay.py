"""What adaptive evaluation would have said of models whose responses to all items are known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from itemwise.adaptive import AdaptiveTest, Budget, Selector, asked_of_recorded
from itemwise.arguments import checked_share, whole_number
from itemwise.calibration import Calibration
from itemwise.errors import InputError
from itemwise.estimation import calibrate
from itemwise.models import MeasurementModel
from itemwise.numerics.arrays import Floats
from itemwise.responses import Responses, Table, as_responses
from itemwise.responses.copies import copies, grouped_folds
from itemwise.results import Finding
from itemwise.studies.evaluation.figures import Ints, summed_up
from itemwise.studies.evaluation.intervals import RealError, normal_reach
from itemwise.words import counted

if TYPE_CHECKING:
    import pandas as pd

    from itemwise.displays import Display

SIZES = (5, 10, 25, 50)
ADAPTIVE, COMPLETED, PLAIN = "adaptive", "random items, completed", "random items, plain mean"
FIGURES = {"mae": "mean absolute error", "coverage": "share of intervals that hold the truth"}


@dataclass(frozen=True, eq=False, repr=False)
class AdaptiveReplay(Finding):
    """How well a few items foretell the score on all of them, for models that were not calibrated.

    `figures` has one row a method and number of items: `mae`, `rmse`, `bias` with standard
    errors, `rank_correlation`, `coverage` of the model's intervals, and for the adaptive method
    `coverage_widened` of those by the error of other folds. `predictions` has one row a method,
    number of items and respondent.
    """

    figures: pd.DataFrame
    predictions: pd.DataFrame
    real_error: RealError
    confidence: float
    n_respondents: int
    n_items: int
    notes: tuple[str, ...] = ()

    @property
    def meaning(self) -> str:
        """One sentence on the error of the longest test."""
        rows = self.figures[self.figures["items"] == self.figures["items"].max()]
        rows = rows.set_index("method")
        best, plain = rows.loc[ADAPTIVE], rows.loc[PLAIN]
        return (
            f"After {counted(int(best['items']), 'item')} of {self.n_items:,} the score on all of "
            f"them is foretold with a mean error of {best['mae']:.3f} ± "
            f"{1.96 * best['mae_se']:.3f}; the plain mean of as many random items misses by "
            f"{plain['mae']:.3f} ± {1.96 * plain['mae_se']:.3f}. Of the model's "
            f"{self.confidence:.0%} intervals {best['coverage']:.0%} hold the truth, of those "
            f"widened by the real error {best['coverage_widened']:.0%}."
        )

    def to_frame(self) -> pd.DataFrame:
        """One row a method and number of items."""
        return self.figures.copy()

    def plot(self, what: str = "mae", **kw: Any) -> Display:
        """`what` is "mae", the mean absolute error by number of items, or "coverage"."""
        from itemwise.displays import DISPLAYS

        if what not in FIGURES:
            raise InputError(f"what is {what!r}; choose one of {', '.join(FIGURES)}.")
        frame = self.figures.rename(columns={"method": "series", "items": "x"})
        reach = 1.96 * frame[f"{what}_se"]
        frame = frame.assign(
            panel=FIGURES[what], estimate=frame[what], low=frame[what] - reach
        ).assign(high=frame[what] + reach)
        bands: Any = DISPLAYS["bands"]
        display: Display = bands(frame.dropna(subset="estimate"), across="items asked")
        return display.plot(**kw)


class _Part(NamedTuple):
    """A bank, and respondents that had no part in it."""

    bank: Calibration
    responses: Responses
    rows: Ints  # their places in the whole table


def replay_adaptively(
    source: Calibration | Table,
    responses: Table | None = None,
    *,
    sizes: Sequence[int] = SIZES,
    selector: Selector | str = "score",
    model: str | MeasurementModel | None = None,
    folds: int = 5,
    batch_size: int = 1,
    confidence: float = 0.95,
    copies_together: bool = True,
    random_state: int = 0,
) -> AdaptiveReplay:
    """Evaluate recorded models adaptively, and compare with their scores on all items.

    `source` is a bank, and `responses` are those of models that it was not calibrated on; or it
    holds responses itself, from which a bank is calibrated (`model`, "3pl" for right and wrong).
    Without `responses`, those of the source are divided into `folds` by model, each replayed with
    a bank from the others. Equal rows, copies of one model, stay in one fold, unless
    `copies_together` is False. A respondent with fewer responses than the largest of `sizes` is
    left out.

    Beside `selector` stand random items, completed by the model and as a plain mean. The result
    serves `evaluate_adaptively(..., error=result)`.

    The frame, also `figures`, has a row a method and number of items: mae, rmse, bias, each with
    its se, rank_correlation, coverage. `batch_size` and `confidence` are those of
    `evaluate_adaptively`; same `random_state`, same folds.

    >>> import itemwise as iw
    >>> table = iw.simulate("2pl", 300, 60, random_state=0).responses
    >>> found = iw.replay_adaptively(table, sizes=[5, 10], folds=2)
    >>> found.figures["mae"].round(2).head(2).tolist()
    [0.09, 0.07]
    """
    checked_share(confidence, "confidence", 0.95)
    whole_number(folds, "folds", 2)
    whole_number(batch_size, "batch_size", 1)
    whole_number(random_state, "random_state", 0)
    table, notes = _table(source, responses)
    steps = _checked_sizes(sizes, table.n_items)
    table, left_out = _long_enough(table, max(steps))
    groups = copies(table) if copies_together else np.arange(table.n_respondents)
    fold = grouped_folds(groups, folds, random_state)
    parts = list(_parts(source, responses, table, fold, model))
    settings = steps, selector, batch_size, random_state
    predictions = _predicted(parts, settings)
    names = frozenset(parts[0].bank.item_names)
    reach = normal_reach(confidence)
    figures, misses = summed_up(predictions, ADAPTIVE, groups, fold, reach, confidence)
    chosen = repr(AdaptiveTest(parts[0].bank, selector=selector, stopper=Budget(1)).parts.selector)
    return AdaptiveReplay(
        figures=figures,
        predictions=predictions.drop(columns="row"),
        real_error=RealError(names, chosen, steps, misses),
        confidence=confidence,
        n_respondents=table.n_respondents,
        n_items=len(names),
        notes=(*notes, *left_out, *_said_copies(groups, together=copies_together)),
    )


def _table(source: Any, responses: Table | None) -> tuple[Responses, tuple[str, ...]]:
    """The responses to be replayed."""
    if isinstance(source, Calibration):
        if responses is None:
            raise InputError(
                "A bank alone cannot be replayed: give responses of models that it was not "
                "calibrated on, or responses in place of the bank, for cross-validation."
            )
        table = as_responses(responses, source.model.kind)
        return table, ("The bank is taken to be calibrated on other models than these.",)
    whole = as_responses(source)
    return whole if responses is None else as_responses(responses, whole.kind), ()


def _checked_sizes(sizes: Sequence[int], n_items: int) -> tuple[int, ...]:
    """Ascending and different, none beyond the bank."""
    if isinstance(sizes, str) or not hasattr(sizes, "__iter__"):
        raise InputError(f"sizes is {sizes!r}; give a list of numbers of items, such as [5, 10].")
    found = sorted({whole_number(size, "sizes", 1) for size in sizes})
    kept = tuple(size for size in found if size < n_items)
    if not kept:
        raise InputError(
            f"sizes is {list(sizes)}, but there are {n_items:,} items. Give at least one number "
            "of items that is smaller: with all of them nothing is left to foretell."
        )
    return kept


def _long_enough(table: Responses, most: int) -> tuple[Responses, tuple[str, ...]]:
    """Respondents that can be asked `most` items, and a note on the others."""
    asked = table.observed.sum(axis=1)
    enough = asked >= most
    if not enough.any():
        raise InputError(
            f"No respondent has {most} responses; the most are {asked.max():,}. Give smaller sizes."
        )
    notes = []
    if not enough.all():
        fewer = counted(int((~enough).sum()), "respondent")
        notes.append(f"{fewer} with fewer than {most} responses left out.")
        table = table.select(respondents=enough)
    if not table.complete:
        notes.append("Where a respondent was not asked all items, the truth is completed itself.")
    return table, tuple(notes)


def _parts(
    source: Any,
    responses: Table | None,
    table: Responses,
    fold: Ints,
    model: str | MeasurementModel | None,
) -> Iterator[_Part]:
    """Banks with respondents that they do not know."""
    if isinstance(source, Calibration):
        yield _Part(source, table, np.arange(table.n_respondents))
        return
    if responses is not None:
        bank = bank_from(as_responses(source), model)
        yield _Part(bank, table, np.arange(table.n_respondents))
        return
    for k in range(int(fold.max()) + 1):
        rows = np.flatnonzero(fold == k)
        bank = bank_from(table.select(respondents=fold != k), model)
        yield _Part(bank, table.select(respondents=rows), rows)


def bank_from(responses: Responses, model: str | MeasurementModel | None) -> Calibration:
    """A bank of responses; 3PL for right and wrong, since items of benchmarks can be guessed."""
    return calibrate(responses, model or ("3pl" if responses.kind == "binary" else "auto"))


def _predicted(parts: list[_Part], settings: tuple[Any, ...]) -> pd.DataFrame:
    """One row a method, number of items and respondent: what is foretold, and the truth."""
    import pandas as pd

    steps, selector, batch_size, seed = settings
    frames = []
    for part in parts:
        truth = part.bank.completed_scores(part.responses)["score"].to_numpy()
        for method, how, at_once in (
            (ADAPTIVE, selector, batch_size),
            (COMPLETED, "random", 1),
        ):
            test = AdaptiveTest(
                part.bank, selector=how, stopper=Budget(max(steps)), random_state=seed
            )
            asked = asked_of_recorded(test, part.responses, max(steps), at_once)
            for size in steps:
                known = {"items": size, "respondent": part.responses.respondents}
                known |= {"row": part.rows, "truth": truth}
                score, se = _completed(part, asked[:, :size])
                frames.append(pd.DataFrame({"method": method, **known, "score": score, "se": se}))
                if method == COMPLETED:
                    score, se = _plain(part, asked[:, :size])
                    frames.append(
                        pd.DataFrame({"method": PLAIN, **known, "score": score, "se": se})
                    )
    whole = pd.concat(frames, ignore_index=True)
    order = pd.Categorical(whole["method"], [ADAPTIVE, COMPLETED, PLAIN], ordered=True)
    whole = whole.assign(order=order).sort_values(["order", "items", "row"], kind="stable")
    return whole.drop(columns="order").reset_index(drop=True)


def _answers(part: _Part, asked: Ints) -> Floats:
    """The responses to the items asked, as they were given, (n, k)."""
    placed = part.bank.placed(part.responses)
    found: Floats = np.take_along_axis(placed, asked, axis=1).astype(float)
    return found


def _completed(part: _Part, asked: Ints) -> tuple[Floats, Floats]:
    values = np.full((len(asked), len(part.bank.item_names)), np.nan)
    np.put_along_axis(values, asked, _answers(part, asked), axis=1)
    known = Responses(values, items=part.bank.item_names, kind=part.bank.model.kind)
    found = part.bank.completed_scores(known)
    return found["score"].to_numpy(), found["score_se"].to_numpy()


def _plain(part: _Part, asked: Ints) -> tuple[Floats, Floats]:
    """Mean, and its standard error as a sample without repeats from all items."""
    values, size = _answers(part, asked), asked.shape[1]
    rest = 1 - size / len(part.bank.item_names)
    spread = values.std(axis=1, ddof=1) if size > 1 else np.full(len(values), np.nan)
    return values.mean(axis=1), spread * np.sqrt(rest / size)


def _said_copies(groups: Ints, *, together: bool) -> tuple[str, ...]:
    same = groups.size - np.unique(groups).size
    if not together or not same:
        return ()
    note = (
        f"{counted(same, 'respondent')} responded exactly as another did; such copies are kept in "
        "one fold, and count as one for standard errors."
    )
    return (note,)
