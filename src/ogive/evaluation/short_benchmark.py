"""`ShortBenchmark`: a few items that represent all, what they predict, and its JSON file."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ogive._files import (
    DAMAGED,
    PathLike,
    check_version,
    require_keys,
    why_damaged,
    write_json,
    written_number,
    written_texts,
)
from ogive._validation import checked_share, one_of
from ogive.data.responses import Responses, Table, as_responses
from ogive.errors import FileError, InputError
from ogive.evaluation.item_choice import CHOOSERS
from ogive.evaluation.score_prediction import (
    PREDICTORS,
    Forecast,
    Margin,
    bounds,
    known_of,
    margin,
    placed_in,
)
from ogive.irt.bank_writing import document_of
from ogive.irt.banks import calibration_from
from ogive.irt.calibration import Calibration
from ogive.irt.repeated_responses import MOST_TRIES, Tries
from ogive.irt.replay_error import POINTS, ScoreRange
from ogive.results.base import Result
from ogive.results.numbers import counted, mean_called
from ogive.stats.array_backend import Floats
from ogive.stats.intervals import normal_reach
from ogive.stats.metrics import COLUMNS

if TYPE_CHECKING:
    from ogive.results.plots.figure import Display


BASELINE = ("random", "plain mean")


KIND, VERSION = "short-benchmark", 3
TEXTS = ("method", "predictor", "role")
HELD_OUT = ("accuracy", "predicted", "low", "high")
KEYS = (
    "items",
    "weights",
    "groups",
    "method",
    "predictor",
    "numbers",
    "within",
    "calibration",
    "margin",
    "confidence",
    "errors",
    "held_out",
    "form",
    "notes",
)
FIGURES = (*COLUMNS, "gain", "gain_se", "mae_low", "mae_high")
LARGEST = 1e12


def save_short_benchmark(short: ShortBenchmark, path: PathLike) -> Path:
    """Write the short form, with the bank of all items whose score it predicts."""
    write_json(path, KIND, VERSION, short_document(short))
    return Path(path)


def short_document(short: ShortBenchmark) -> dict[str, Any]:
    """Return what is written of a short form."""
    factor = short.margin.factor
    held = {name: getattr(short, name).tolist() for name in HELD_OUT}
    return {
        "items": list(short.items),
        "weights": short.weights.tolist(),
        "groups": None if short.groups is None else list(short.groups),
        "method": short.method,
        "predictor": short.predictor,
        "numbers": {name: values.tolist() for name, values in short.numbers.items()},
        "within": {name: values.tolist() for name, values in short.within.numbers().items()},
        "calibration": document_of(short.calibration),
        "margin": {
            "factor": None if math.isinf(factor) else factor,
            "floor": short.margin.floor,
            "above": short.margin.above,
            "below": short.margin.below,
        },
        "confidence": short.confidence,
        "errors": {name: [_told(cell) for cell in column] for name, column in short.errors.items()},
        "held_out": {"respondent": list(short.respondents), **held},
        "form": [[_told(cell) for cell in row] for row in short.form.tolist()],
        **({} if short.tries is None else {"tries": short.tries.tolist()}),
        "notes": list(short.notes),
    }


def read_short_benchmark(file: Path, document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of the `ShortBenchmark` that `save_short_benchmark` wrote."""
    check_version(file, document, VERSION)
    require_keys(file, document, KEYS)
    try:
        return restored(document)
    except DAMAGED as error:
        raise FileError(
            f"'{file}' is not a short benchmark that this Ogive can use: {why_damaged(error)} "
            "If it was edited, restore a copy or save it again."
        ) from error


def restored(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of the `ShortBenchmark` that `short_document` described."""
    calibration = calibration_from(document["calibration"])
    items = written_texts(document["items"], "items")
    size = len(items)
    if not items or len(set(items)) < size or not set(items) <= set(calibration.item_names):
        raise InputError("its items are not different items of its calibration")
    groups = document["groups"]
    held = document["held_out"]
    respondents = written_texts(held["respondent"], "respondents")
    predictor = _one_of(document["predictor"], PREDICTORS, "predictor")
    return dict(
        items=items,
        weights=_array(document["weights"], "weights", (size,)),
        groups=None if groups is None else written_texts(groups, "groups", size),
        method=_one_of(document["method"], CHOOSERS, "method"),
        predictor=predictor,
        numbers=_numbers(predictor, document["numbers"], size),
        within=_within(document["within"], size),
        calibration=calibration,
        margin=_margin(document["margin"]),
        confidence=checked_share(document["confidence"], "confidence", 0.95),
        errors=_errors(document["errors"]),
        respondents=respondents,
        **{name: _array(held[name], name, (len(respondents),)) for name in HELD_OUT},
        form=_form(document["form"], (len(respondents), size)),
        tries=_tries(document.get("tries"), (len(respondents), size)),
        notes=written_texts(document["notes"], "notes"),
    )


def _numbers(predictor: str, written: Mapping[str, Any], size: int) -> dict[str, Floats]:
    """Return the numbers that the predictor has learned, in the shapes it needs."""
    found = {str(name): _array(values, str(name)) for name, values in written.items()}
    shapes = PREDICTORS[predictor].shapes(size, found)
    if {name: values.shape for name, values in found.items()} != shapes:
        raise InputError(f"the numbers of the predictor {predictor!r} do not fit its items")
    if "spread" in found and not (found["spread"] > 0).all():
        raise InputError("the spread is not above 0")
    return found


def _form(written: Any, shape: tuple[int, int]) -> Floats:
    """Return responses to the short form; null means not asked."""
    if not isinstance(written, list) or not all(isinstance(row, list) for row in written):
        raise InputError("form is not a table of responses")
    rows = [[math.nan if c is None else _number(c, "form") for c in row] for row in written]
    if len(rows) != shape[0] or any(len(row) != shape[1] for row in rows):
        raise InputError(f"form should have {shape[0]} rows of {shape[1]} responses")
    return np.array(rows)


def _tries(written: Any, shape: tuple[int, int]) -> Tries | None:
    """Return the answers behind each response, if some were repeated; whole numbers from 0."""
    if written is None:
        return None
    found = _array(written, "tries", shape)
    if not ((found >= 0) & (found <= MOST_TRIES) & (found == np.floor(found))).all():
        raise InputError("its tries are not whole numbers from 0")
    return found.astype(np.int32)


def _margin(written: Mapping[str, Any]) -> Margin:
    factor = math.inf if written["factor"] is None else _number(written["factor"], "factor")
    floor, above, below = (_number(written[name], name) for name in ("floor", "above", "below"))
    if not (factor >= 0 and floor > 0 and above >= 0 and below >= 0):
        raise InputError("its margin is negative")
    return Margin(factor, floor, above, below)


def _within(written: Mapping[str, Any], size: int) -> ScoreRange:
    """Return the range of scores learned from: shares between 0 and 1, and densities."""
    shapes = {
        "curves": (POINTS, size),
        "modelled": (POINTS, size),
        "inside": (POINTS,),
        "edges": (2,),
        "odds": (2,),
        "spread": (1,),
        "weight": (1,),
    }
    found = {name: _array(written[name], name, shape) for name, shape in shapes.items()}
    curves, spread = np.stack([found["curves"], found["modelled"]]), found["spread"]
    if not (curves.min() > 0 and curves.max() < 1 and min(spread[0], found["weight"][0]) > 0):
        raise InputError("its curves are not between 0 and 1")
    if not (found["inside"].min() >= 0 and found["inside"].sum() > 0 and found["odds"].min() >= 0):
        raise InputError("the densities of its range are not positive")
    return ScoreRange.from_numbers(found)


def _errors(written: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
    names = [written_texts(written[name], name) for name in TEXTS]
    rows = len(names[0])
    found: dict[str, tuple[Any, ...]] = dict(zip(TEXTS, names, strict=True))
    for name in FIGURES:
        cells = written[name]
        if not isinstance(cells, list):
            raise InputError(f"{name} is not a list")
        found[name] = tuple(math.nan if c is None else _number(c, name) for c in cells)
    if any(len(column) != rows for column in found.values()):
        raise InputError("the columns of errors have different lengths")
    if BASELINE not in zip(found["method"], found["predictor"], strict=True):
        raise InputError("the errors lack the comparison with random items")
    return found


def _told(cell: Any) -> Any:
    return None if isinstance(cell, float) and not math.isfinite(cell) else cell


def _number(value: Any, name: str) -> float:
    return written_number(value, name, -LARGEST, LARGEST)


def _array(values: Any, name: str, shape: tuple[int, ...] | None = None) -> Floats:
    """Return a list of numbers, or a list of such lists, as an array."""
    if not isinstance(values, list) or not values:
        raise InputError(f"{name} is not a list of numbers")
    rows = [_array(row, name) for row in values] if isinstance(values[0], list) else None
    found = np.array([_number(v, name) for v in values]) if rows is None else np.stack(rows)
    if shape is not None and found.shape != shape:
        raise InputError(f"{name} has shape {found.shape}, but should have {shape}")
    return found


def _one_of(value: Any, known: Mapping[str, Any], name: str) -> str:
    if not isinstance(value, str) or value not in known:
        raise InputError(f"its {name} is {value!r:.40}, which is unknown here")
    return value


KINDS_OF_FIGURE = ("prediction", "items")
MOST_MASKED = 400  # respondents; more would add little
OWN = "this short form"
STRONGER, WEAKER = "stronger than all others", "weaker than all others"
LOT = "for comparison"  # random items
LOT_OF = {role: f"{LOT}: {role}" for role in (STRONGER, WEAKER)}


@dataclass(frozen=True, eq=False, repr=False)
class ShortBenchmark(Result):
    """Items that represent a whole benchmark.

    `error` has one row per way to predict the accuracy on all items. The first is that of this
    short form: its error on held-out respondents, with items chosen and everything else learned
    without them. Rows with the role "stronger than all others" are its error for the strongest
    tenth, learned from the rest; "weaker than all others" likewise. `held_out` has the accuracy of
    held-out respondents, true and predicted. For grades and scores, accuracy is the mean response.
    """

    items: tuple[str, ...]  # in the order of choice
    weights: Floats  # (size,); share of the benchmark that each item represents
    groups: tuple[str, ...] | None  # of the chosen items
    method: str
    predictor: str
    numbers: Mapping[str, Floats]  # what the predictor has learned
    within: ScoreRange  # the accuracies it has learned from
    calibration: Calibration  # of all items
    margin: Margin
    confidence: float  # of the intervals
    errors: Mapping[str, tuple[Any, ...]]  # the columns of `error`
    respondents: tuple[str, ...]
    accuracy: Floats  # (n_respondents,), as the next three: on all items
    predicted: Floats  # learned without the respondent
    low: Floats
    high: Floats
    form: Floats  # (n_respondents, size); responses to the short form, NaN if not asked
    tries: Tries | None = None  # behind each of them, where right or wrong answers were repeated
    notes: tuple[str, ...] = ()

    @cached_property
    def bank(self) -> Calibration:
        """The chosen items, on the scale of all items."""
        return self.calibration.of_items(self.items)

    @property
    def error(self) -> pd.DataFrame:
        """One row per way: mean absolute error with its interval, bias, ranks, coverage."""
        return pd.DataFrame({name: list(column) for name, column in self.errors.items()})

    @property
    def held_out(self) -> pd.DataFrame:
        """One row per respondent: accuracy on all items, held-out prediction, and its interval."""
        columns = {
            "accuracy": self.accuracy,
            "predicted": self.predicted,
            "low": self.low,
            "high": self.high,
        }
        return pd.DataFrame(columns, index=pd.Index(self.respondents, name="respondent"))

    def predict(self, responses: Table) -> pd.DataFrame:
        """Predict the accuracy on all items for respondents who were asked the short form.

        Other items in `responses` are ignored, and missing responses to the short form are
        predicted from the others. The interval from `accuracy_low` to `accuracy_high` covers the
        true accuracy for the share `confidence` of respondents like those of the benchmark, and
        reaches further for respondents who may be stronger or weaker than all of them. With missing
        responses it is widened by the error that masking those respondents in the same way shows.
        `beyond` says how far the prediction lies above the highest accuracy learned from (below
        the lowest, if negative; 0 inside), and `beyond_chance` how likely the respondent is outside
        this range if that is as likely as not beforehand. `ability` and `ability_se` are on the
        scale of all items; `n_items` counts the items asked.
        """
        short = self._asked(as_responses(responses, self.calibration.model.kind))
        ends = bounds(self.calibration)
        told = _predicted(self, short)
        down, up = _reach(self, np.asarray(short.observed), told)
        scored = self.bank.score(short)
        edges = ends[0] + self.within.edges * (ends[1] - ends[0])
        columns = {
            "accuracy": told.value,
            "accuracy_low": np.clip(told.value - down, *ends),
            "accuracy_high": np.clip(told.value + up, *ends),
            "beyond": told.value - np.clip(told.value, *edges),
            "beyond_chance": told.placed.maybe_above + told.placed.maybe_below,
            "ability": scored["ability"].to_numpy(),
            "ability_se": scored["se"].to_numpy(),
            "n_items": short.observed.sum(axis=1),
        }
        return pd.DataFrame(columns, index=pd.Index(short.respondents, name="respondent"))

    def _asked(self, table: Responses) -> Responses:
        """Return the items of the short form, in their order; an empty column if one is missing."""
        there = set(table.items)
        if not there & set(self.items):
            raise InputError(
                f"None of the {counted(len(self.items), 'item')} of the short form are in these "
                f"responses, which have {', '.join(table.items[:3])}, ... Items are matched by "
                f"name: {', '.join(self.items[:3])}, ..."
            )
        part = table.select(items=[name for name in self.items if name in there])
        if part.items == self.items:
            return part
        cells = self.bank.placed(part)
        if cells.dtype.kind != "f":
            return Responses.from_codes(cells, part.respondents, self.items, part.kind)
        tries = self.bank.placed_tries(part)
        return Responses(cells, part.respondents, self.items, part.kind, tries=tries)

    @property
    def meaning(self) -> str:
        """The error of the short form, compared with items chosen at random."""
        own, lot = self._row(OWN), self._row(LOT)
        whole = counted(len(self.calibration.item_names), "item")
        ends = f"{own['mae_low']:.3f} to {own['mae_high']:.3f}"
        idle = int((self.weights == 0).sum())
        remark_on_idle = f" ({idle:,} of them with weight 0: they represent no others)"
        return (
            f"{len(self.items):,} of {whole}{remark_on_idle if idle else ''} predict the "
            f"{self._measure} on all of them with a mean absolute error of "
            f"{own['mae']:.3f} ({ends}) for held-out respondents; "
            f"for the mean of as many items at random it is {lot['mae']:.3f}{_said_of_gain(own)}. "
            f"{self._said_of_intervals(own['coverage'])}{self._said_of_stronger()}"
        )

    @property
    def _measure(self) -> str:
        """What means of responses are called."""
        return mean_called(self.calibration.model.kind)

    @property
    def _says_nothing(self) -> bool:
        """True if every interval spans all possible values, as with too few respondents."""
        return math.isinf(self.margin.factor)

    def _said_of_intervals(self, coverage: float) -> str:
        """Return how many intervals hold; those that span everything hold nothing."""
        if self._says_nothing:
            return f"Respondents are too few for {self.confidence:.0%} intervals of predictions."
        return (
            f"{coverage:.0%} of the {self.confidence:.0%} intervals cover the true {self._measure}."
        )

    def _said_of_stronger(self) -> str:
        """Return the error for respondents stronger than those learned from."""
        if STRONGER not in self.errors["role"]:
            return ""
        own, lot = self._row(STRONGER), self._row(LOT_OF[STRONGER])
        covered = "" if self._says_nothing else f", and {own['coverage']:.0%} are covered"
        return (
            f" For the strongest tenth, predicted from the others, the error is {own['mae']:.3f} "
            f"({lot['mae']:.3f} for random items){covered}."
        )

    def _row(self, role: str) -> dict[str, Any]:
        """Return the figures of the first row with this role."""
        place = self.errors["role"].index(role)
        return {name: column[place] for name, column in self.errors.items()}

    def to_frame(self) -> pd.DataFrame:
        """Return one row per chosen item: weight, parameters with standard errors, and group."""
        frame = self.bank.items
        frame.insert(0, "weight", self.weights)
        if self.groups is not None:
            frame.insert(1, "group", list(self.groups))
        return frame

    def plot(self, kind: str = "prediction", **kw: Any) -> Display:
        """Draw held-out accuracy, predicted against true ("prediction"); or the "items"."""
        from ogive.results.plots import DISPLAYS

        if one_of(kind, "kind", KINDS_OF_FIGURE) == "prediction":
            return DISPLAYS["prediction"](self.held_out).plot(**kw)
        make: Any = DISPLAYS["ranking"]
        shown: Display = make(self.to_frame(), estimate="difficulty", se="difficulty_se")
        shown.plot(**kw).ax_.set_xlabel("difficulty (bar: ±1.96 standard errors)")
        return shown

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the short form as .json, which `ogive.load` reads.

        As .csv, .parquet or .html, the frame of its items is written.
        """
        if Path(path).suffix.lower() == ".json":
            return save_short_benchmark(self, path)
        return super().save(path)


def _said_of_gain(own: Mapping[str, Any]) -> str:
    """Return whether the short form is better than random items, or worse; and then what to do."""
    gain, reach = own["gain"], normal_reach(0.95) * own["gain_se"]
    if gain > reach:
        return ""
    if gain < -reach:
        return " (the short form is significantly worse: take the mean of random items instead)"
    if gain < 0:
        return " (the short form is worse, though not significantly)"
    return " (the short form is not significantly better)"


def checked_confidence(value: object) -> float:
    """Check the share of respondents whose accuracy the intervals are to cover."""
    return checked_share(value, "confidence", 0.95)


def load_short_benchmark(file: Path, document: Mapping[str, Any]) -> ShortBenchmark:
    """Restore the short benchmark that `ShortBenchmark.save` wrote; it predicts as before."""
    return ShortBenchmark(**read_short_benchmark(file, document))


def short_benchmark_from(document: Mapping[str, Any]) -> ShortBenchmark:
    """Restore the short benchmark that a bank carries."""
    return ShortBenchmark(**restored(document))


def _reach(
    short: ShortBenchmark, observed: NDArray[np.bool_], told: Forecast
) -> tuple[Floats, Floats]:
    """Return how far each interval reaches down and up, (n_respondents,) each.

    Where items of the form were not asked, the error of the held-out respondents is increased by
    the change in their predictions when they are masked in the same way. Respondents asked the same
    number of items are treated alike: their patterns are applied in turn.
    """
    down, up = short.margin.reach(told)
    counts = observed.sum(axis=1)
    for count in np.unique(counts[counts < len(short.items)]):
        rows = np.flatnonzero(counts == count)
        found = _masked_margin(short, observed[rows]).reach(told.rows(rows))
        down[rows], up[rows] = np.maximum(down[rows], found[0]), np.maximum(up[rows], found[1])
    return down, up


def _masked_margin(short: ShortBenchmark, patterns: NDArray[np.bool_]) -> Margin:
    """Return the margin of held-out respondents, masked by the patterns of others."""
    n = len(short.form)
    chosen = np.linspace(0, n - 1, min(n, MOST_MASKED)).round().astype(int)
    form = short.form[chosen]
    masked = np.where(patterns[np.arange(len(chosen)) % len(patterns)], form, np.nan)
    left = ~np.isnan(masked).all(axis=1)
    if not left.any():
        return Margin(np.inf, short.margin.floor)
    tries = None if short.tries is None else short.tries[chosen][left]
    whole = _predicted(short, _as_form(short, form[left], tries))
    part = _predicted(short, _as_form(short, masked[left], tries))
    # Held-out predictions change as those of the finished short form do.
    moved = short.predicted[chosen][left] + part.value - whole.value
    told = Forecast(moved, part.unsure, part.placed)
    return margin(told, short.accuracy[chosen][left], short.confidence)


def _as_form(short: ShortBenchmark, form: Floats, tries: Tries | None) -> Responses:
    """Return responses to the short form, of respondents without names."""
    names = [f"respondent {k}" for k in range(len(form))]
    behind = None if tries is None else np.where(np.isnan(form), 0, tries)
    table = Responses(form, respondents=names, items=short.items, tries=behind)
    return table.of_kind(short.calibration.model.kind)


def _predicted(short: ShortBenchmark, table: Responses) -> Forecast:
    """Return what the short form says about respondents."""
    bank, ends = short.calibration, bounds(short.calibration)
    known, unsure = known_of(bank, table, short.weights)
    inside = np.clip(PREDICTORS[short.predictor].predict(short.numbers, known), *ends)
    placed = placed_in(short.within, bank, table, short.confidence)
    return Forecast(np.clip(placed.mixed(inside), *ends), unsure, placed)
