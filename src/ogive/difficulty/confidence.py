"""A model's predicted probability and its accuracy, by difficulty: where it is overconfident."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ogive._validation import as_number, whole_number
from ogive.data.names import is_numbered, row_name
from ogive.difficulty.item_values import along, check_confidence, curve_frame
from ogive.difficulty.targets import difficulty_of
from ogive.errors import InputError
from ogive.results.base import Result
from ogive.results.numbers import counted, listed
from ogive.results.plots.banded_curves import CharacteristicDisplay
from ogive.results.plots.figure import Display
from ogive.stats.array_backend import Floats
from ogive.stats.intervals import wilson
from ogive.stats.metrics import (
    calibration_error,
    confidence_bins,
    error_by_chance,
    error_interval,
    mean_interval,
)

__all__ = ["ConfidenceByDifficulty", "confidence_by_difficulty"]


FEWEST_DRAWS = 20


@dataclass(frozen=True, eq=False, repr=False)
class ConfidenceByDifficulty(Result):
    """Predicted probability and accuracy of a model, by bins from easy to hard items.

    `gap` is probability minus accuracy: above 0, the model is overconfident. `calibration_error` is
    the usual ECE: the mean distance of probability and accuracy over ten bins of probability. It is
    above 0 by chance alone; `calibration_error_by_chance` is its mean for a perfectly calibrated
    model. `error_by_difficulty` is the same distance over the bins of difficulty.
    """

    items: tuple[str, ...]
    edges: Floats  # of the bins of difficulty, (n_bins + 1,)
    difficulty: Floats  # (n_bins,), as all up to `gap_high`
    n: NDArray[np.intp]
    probability: Floats
    probability_low: Floats
    probability_high: Floats
    accuracy: Floats
    accuracy_low: Floats
    accuracy_high: Floats
    gap: Floats
    gap_low: Floats
    gap_high: Floats
    calibration_error: float
    calibration_error_low: float
    calibration_error_high: float
    calibration_error_by_chance: float
    error_by_difficulty: float
    error_by_difficulty_low: float
    error_by_difficulty_high: float
    sure_and_wrong: pd.DataFrame  # index item: difficulty, probability; easiest first
    sure: float
    confidence: float
    notes: tuple[str, ...] = ()

    @property
    def meaning(self) -> str:
        """How often the model is sure and wrong, and where probability and accuracy differ most."""
        beyond = (self.gap_low > 0) | (self.gap_high < 0)
        wrong = len(self.sure_and_wrong)
        text = f"Of {counted(len(self.items), 'item')}, {wrong:,} {'was' if wrong == 1 else 'were'}"
        text += f" answered wrongly with a predicted probability of {self.sure:g} or more"
        if not beyond.any():
            return f"{text}; probability and accuracy differ significantly in no bin of difficulty."
        k = int(np.argmax(np.where(beyond, np.abs(self.gap), -1.0)))
        word = "overconfident" if self.gap[k] > 0 else "underconfident"
        return (
            f"{text}; the model is most {word} around a difficulty of {self.difficulty[k]:.2f}, "
            f"where its mean probability is {self.probability[k]:.2f} and {self.accuracy[k]:.2f} "
            f"of its responses are right (gap {self.gap_low[k]:+.2f} to {self.gap_high[k]:+.2f})."
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row per bin, from easy to hard."""
        names = [
            *("difficulty", "n", "probability", "probability_low", "probability_high"),
            *("accuracy", "accuracy_low", "accuracy_high", "gap", "gap_low", "gap_high"),
        ]
        columns: dict[str, Any] = {"from": self.edges[:-1], "to": self.edges[1:]}
        columns |= {name: getattr(self, name) for name in names}
        return pd.DataFrame(columns, index=pd.Index(np.arange(1, self.n.size + 1), name="bin"))

    def plot(self, **kw: Any) -> Display:
        """Draw predicted probability and accuracy by difficulty, with their intervals."""
        names = ("probability", "accuracy")
        share, low, high = (
            np.stack([getattr(self, f"{name}{end}") for name in names])
            for end in ("", "_low", "_high")
        )
        frame = curve_frame(names, self.difficulty, share=share, low=low, high=high)
        return CharacteristicDisplay(frame, height="mean probability and share right").plot(**kw)


def confidence_by_difficulty(
    probability: Any,
    right: Any,
    difficulty: Any,
    *,
    bins: int | Sequence[float] = 10,
    strategy: str = "quantile",
    sure: float = 0.9,
    confidence: float = 0.95,
    n_resamples: int = 500,
    random_state: int = 0,
) -> ConfidenceByDifficulty:
    """Compare a model's predicted probability with its accuracy, by difficulty.

    `probability` is what the model gives to its own response, `right` whether the response was
    right (0 or 1), and `difficulty` how hard the item is: one value per item each, in the same
    order; or Series, matched by their index, where numbered rows are called row_0, row_1, ...
    `difficulty` may be the result of `difficulty_targets`. Items that lack one of the three are
    left out. Wrong responses with a probability of at least `sure` are listed in `sure_and_wrong`.
    Intervals of calibration errors come from `n_resamples` resamples of the items.

    `bins` and `strategy` are as in `characteristic_curves`. The frame has one row per bin: from,
    to, difficulty, n, and probability, accuracy and their gap, each with low and high at
    `confidence`. The same `random_state` gives the same result.

    >>> import ogive as og
    >>> import numpy as np
    >>> difficulty = np.linspace(-2, 2, 100)
    >>> right = (difficulty < 1).astype(int)
    >>> sure = np.full(100, 0.9)
    >>> found = og.confidence_by_difficulty(sure, right, difficulty, bins=4, n_resamples=20)
    >>> found.to_frame()["gap"].round(1).tolist(), len(found.sure_and_wrong)
    ([-0.1, -0.1, -0.1, 0.9], 25)
    """
    check_confidence(confidence)
    if not 0 <= as_number(sure) <= 1:
        raise InputError(f"sure is {sure!r}, but it should be a probability between 0 and 1.")
    whole_number(n_resamples, "n_resamples", FEWEST_DRAWS)
    whole_number(random_state, "random_state", 0)
    given = {"probability": probability, "right": right, "difficulty": difficulty_of(difficulty)}
    names, columns, absent = _matched(given)
    known: NDArray[np.bool_] = np.logical_and.reduce(np.isfinite(columns))
    if not known.any():
        raise InputError("No item has a probability, a finite difficulty, and right or wrong.")
    items = tuple(name for name, there in zip(names, known, strict=True) if there)
    sureness, hit, value = columns[:, known]
    _check_values(sureness, hit)
    found = along(value, items, bins, strategy)
    random = np.random.default_rng(random_state)
    lost = int((~known).sum())
    return ConfidenceByDifficulty(
        items=items,
        edges=found.edges,
        difficulty=found.difficulty,
        n=found.items,
        **_by_bin(sureness, hit, found.place, found.items.size, confidence),
        **_errors(sureness, hit, found.place, confidence, int(n_resamples), random),
        sure_and_wrong=_sure_and_wrong(items, sureness, hit, value, sure),
        sure=float(sure),
        confidence=confidence,
        notes=(
            *absent,
            *((f"Left out (a number is missing): {counted(lost, 'item')}.",) if lost else ()),
            *found.notes,
        ),
    )


def _matched(given: dict[str, Any]) -> tuple[tuple[str, ...], Floats, tuple[str, ...]]:
    """Return names of the items, the three columns, and a note on items missing in one of them.

    Columns are matched by index if all have one, else by position.
    """
    absent: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    given = _named_alike(given)
    if all(isinstance(column, pd.Series) for column in given.values()):
        given, absent = _shared(given)
        names = tuple(given["probability"].index)
    columns = []
    for name, column in given.items():
        try:
            columns.append(np.asarray(column, dtype=np.float64))
        except (TypeError, ValueError) as error:
            raise InputError(f"{name} should give numbers, but: {error}.") from error
    shapes = {column.shape for column in columns}
    if len(shapes) > 1 or columns[0].ndim != 1 or not columns[0].size:
        said = ", ".join(f"{n}: {c.shape}" for n, c in zip(given, columns, strict=True))
        raise InputError(f"Give one value per item in each; the shapes are {said}.")
    names = names or tuple(f"item_{k + 1}" for k in range(columns[0].size))
    return names, np.stack(columns), absent


def _named_alike(given: dict[str, Any]) -> dict[str, Any]:
    """Rename numbered Series to row_0, row_1, ... if others have names."""
    series = {name: column for name, column in given.items() if isinstance(column, pd.Series)}
    plain = {name: column for name, column in series.items() if is_numbered(column.index)}
    if len(plain) == len(series):
        return given
    called = {name: column.rename(index=row_name) for name, column in plain.items()}
    rows = {item for column in called.values() for item in column.index}
    strangers = [name for name, column in series.items() if name not in plain]
    known = all(rows.intersection(series[name].index) for name in strangers)
    if len(series) < len(given) or (plain and not known):
        raise InputError(
            "Some of probability, right and difficulty name their items and some do not, so they "
            "cannot be matched. Give Series with the same index, or arrays: .to_numpy()."
        )
    return {**given, **called}


def _shared(given: dict[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The items that all three share, in the order of the first, and a note on the others."""
    series = {name: column.rename(index=str) for name, column in given.items()}
    for name, column in series.items():
        if column.index.has_duplicates:
            raise InputError(f"{name} gives an item more than one value. Give one per item.")
    every = dict.fromkeys(item for column in series.values() for item in column.index)
    shared = [item for item in every if all(item in column.index for column in series.values())]
    if not shared:
        raise InputError(
            "probability, right and difficulty share no item. Their index should name the items."
        )
    there = set(shared)
    lost = [item for item in every if item not in there]
    note = f"Left out (missing probability, right or difficulty): {listed(lost, 'item')}."
    return {name: column.loc[shared] for name, column in series.items()}, (note,) if lost else ()


def _check_values(probability: Floats, right: Floats) -> None:
    if probability.min() < 0 or probability.max() > 1:
        raise InputError(
            f"probability runs from {probability.min():.3g} to {probability.max():.3g}, but it "
            "should lie between 0 and 1."
        )
    if not np.isin(right, (0.0, 1.0)).all():
        strange = right[~np.isin(right, (0.0, 1.0))][0]
        raise InputError(f"right holds {strange:g}, but it should be 1 (right) or 0 (wrong).")


def _by_bin(
    probability: Floats, right: Floats, place: NDArray[np.intp], n_bins: int, confidence: float
) -> dict[str, Any]:
    """Return mean probability, accuracy and their difference in each bin, with intervals."""
    parts = [place == k for k in range(n_bins)]
    n = np.array([part.sum() for part in parts], dtype=np.float64)
    hits = np.array([right[part].sum() for part in parts])
    low, high = wilson(hits, n, confidence)
    means = np.array([mean_interval(probability[part], confidence, 0.0, 1.0) for part in parts])
    gaps = np.array(
        [mean_interval(probability[part] - right[part], confidence, -1.0, 1.0) for part in parts]
    )
    return {
        "probability": means[:, 0],
        "probability_low": means[:, 1],
        "probability_high": means[:, 2],
        "accuracy": hits / n,
        "accuracy_low": low,
        "accuracy_high": high,
        "gap": gaps[:, 0],
        "gap_low": gaps[:, 1],
        "gap_high": gaps[:, 2],
    }


def _errors(
    probability: Floats,
    right: Floats,
    place: NDArray[np.intp],
    confidence: float,
    n_resamples: int,
    random: np.random.Generator,
) -> dict[str, Any]:
    """Calibration errors over bins of probability and over bins of difficulty, with intervals."""
    coarse, inside = confidence_bins(probability), place >= 0
    parts = {
        "calibration_error": (probability, right, coarse),
        "error_by_difficulty": (probability[inside], right[inside], place[inside]),
    }
    found: dict[str, Any] = {}
    for name, part in parts.items():
        low, high = error_interval(*part, confidence, n_resamples, random)
        found |= {name: calibration_error(*part), f"{name}_low": low, f"{name}_high": high}
    by_chance = error_by_chance(probability, coarse, n_resamples, random)
    return found | {"calibration_error_by_chance": by_chance}


def _sure_and_wrong(
    items: tuple[str, ...], probability: Floats, right: Floats, value: Floats, sure: float
) -> pd.DataFrame:
    """Wrong responses with a high probability, on the easiest items first, then the surest."""
    frame = pd.DataFrame(
        {"difficulty": value, "probability": probability}, index=pd.Index(items, name="item")
    )
    wrong: pd.DataFrame = frame[(right == 0) & (probability >= sure)].sort_values(
        ["difficulty", "probability"], ascending=[True, False], kind="stable"
    )
    return wrong
