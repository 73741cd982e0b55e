"""A model's predicted probability and its accuracy, by difficulty: where it is overconfident."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ogive._validation import as_number, checked_share, float_array, whole_number
from ogive.data.names import is_numbered, row_name
from ogive.difficulty.item_values import bin_items, curve_frame
from ogive.difficulty.targets import difficulty_of
from ogive.errors import InputError
from ogive.results.base import Result
from ogive.results.numbers import counted, listed
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
        from ogive.results.plots.banded_curves import CharacteristicDisplay

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
    checked_share(confidence, "confidence", 0.95)
    if not 0 <= as_number(sure) <= 1:
        raise InputError(f"`sure` must be a probability between 0 and 1, got {sure!r}.")
    whole_number(n_resamples, "n_resamples", FEWEST_DRAWS)
    whole_number(random_state, "random_state", 0)
    given = {"probability": probability, "right": right, "difficulty": difficulty_of(difficulty)}
    names, columns, notes = _matched(given)
    known: NDArray[np.bool_] = np.logical_and.reduce(np.isfinite(columns))
    if not known.any():
        raise InputError("No item has a probability, a finite difficulty, and right or wrong.")
    if n_missing := int((~known).sum()):
        notes.append(f"Left out (a number is missing): {counted(n_missing, 'item')}.")
    items = tuple(names[k] for k in np.flatnonzero(known))
    predicted, hit, value = columns[:, known]
    if predicted.min() < 0 or predicted.max() > 1:
        raise InputError(
            f"probability runs from {predicted.min():.3g} to {predicted.max():.3g}, but it "
            "should lie between 0 and 1."
        )
    if (odd := ~np.isin(hit, (0.0, 1.0))).any():
        raise InputError(f"right holds {hit[odd][0]:g}, but it should be 1 (right) or 0 (wrong).")
    binned = bin_items(value, items, bins, strategy)
    random = np.random.default_rng(random_state)
    frame = pd.DataFrame(
        {"difficulty": value, "probability": predicted}, index=pd.Index(items, name="item")
    )
    return ConfidenceByDifficulty(
        items=items,
        edges=binned.edges,
        difficulty=binned.difficulty,
        n=binned.items,
        **_by_bin(predicted, hit, binned.place, binned.items.size, confidence),
        **_errors(predicted, hit, binned.place, confidence, int(n_resamples), random),
        sure_and_wrong=frame[(hit == 0) & (predicted >= sure)].sort_values(
            ["difficulty", "probability"], ascending=[True, False], kind="stable"
        ),
        sure=float(sure),
        confidence=confidence,
        notes=(*notes, *binned.notes),
    )


def _matched(given: dict[str, Any]) -> tuple[list[str], Floats, list[str]]:
    """Return names of the items, the three columns, and a note on items missing in one of them.

    Columns are matched by index if all have one, else by position.
    """
    names, notes = [], []
    given = _named_alike(given)
    if all(isinstance(column, pd.Series) for column in given.values()):
        series = {name: column.rename(index=str) for name, column in given.items()}
        for name, column in series.items():
            if column.index.has_duplicates:
                raise InputError(f"{name} gives an item more than one value. Give one per item.")
        every = dict.fromkeys(item for column in series.values() for item in column.index)
        names = [item for item in every if all(item in each.index for each in series.values())]
        if not names:
            raise InputError(
                "probability, right and difficulty share no item. Their index should name the "
                "items."
            )
        shared = set(names)
        if lost := [item for item in every if item not in shared]:
            missing = "missing probability, right or difficulty"
            notes = [f"Left out ({missing}): {listed(lost, 'item')}."]
        given = {name: column.loc[names] for name, column in series.items()}
    columns = [float_array(column, name) for name, column in given.items()]
    shapes = {column.shape for column in columns}
    if len(shapes) > 1 or columns[0].ndim != 1 or not columns[0].size:
        shown = ", ".join(f"{n}: {c.shape}" for n, c in zip(given, columns, strict=True))
        raise InputError(f"Give one value per item in each; the shapes are {shown}.")
    names = names or [f"item_{k + 1}" for k in range(columns[0].size)]
    return names, np.stack(columns), notes


def _named_alike(given: dict[str, Any]) -> dict[str, Any]:
    """Rename numbered Series to row_0, row_1, ... if others have names."""
    series = {name: column for name, column in given.items() if isinstance(column, pd.Series)}
    numbered = {name: column for name, column in series.items() if is_numbered(column.index)}
    if len(numbered) == len(series):
        return given
    renamed = {name: column.rename(index=row_name) for name, column in numbered.items()}
    rows = {item for column in renamed.values() for item in column.index}
    named = [column for name, column in series.items() if name not in numbered]
    known = all(rows.intersection(column.index) for column in named)
    if len(series) < len(given) or (numbered and not known):
        raise InputError(
            "Some of probability, right and difficulty name their items and some do not, so they "
            "cannot be matched. Give Series with the same index, or arrays: .to_numpy()."
        )
    return {**given, **renamed}


def _by_bin(
    probability: Floats, right: Floats, place: NDArray[np.intp], n_bins: int, confidence: float
) -> dict[str, Any]:
    """Return mean probability, accuracy and their difference in each bin, with intervals."""
    parts = [place == k for k in range(n_bins)]
    n = np.array([part.sum() for part in parts], dtype=np.float64)
    hits = np.array([right[part].sum() for part in parts])
    gap = probability - right
    intervals = {
        "probability": [mean_interval(probability[p], confidence, 0.0, 1.0) for p in parts],
        "accuracy": np.stack([hits / n, *wilson(hits, n, confidence)], axis=1),
        "gap": [mean_interval(gap[p], confidence, -1.0, 1.0) for p in parts],
    }
    return {
        f"{name}{end}": np.asarray(rows)[:, k]
        for name, rows in intervals.items()
        for k, end in enumerate(("", "_low", "_high"))
    }


def _errors(
    probability: Floats,
    right: Floats,
    place: NDArray[np.intp],
    confidence: float,
    n_resamples: int,
    random: np.random.Generator,
) -> dict[str, Any]:
    """Return calibration errors over bins of probability and of difficulty, with intervals."""
    coarse, inside = confidence_bins(probability), place >= 0
    parts = {
        "calibration_error": (probability, right, coarse),
        "error_by_difficulty": (probability[inside], right[inside], place[inside]),
    }
    errors: dict[str, Any] = {}
    for name, part in parts.items():
        low, high = error_interval(*part, confidence, n_resamples, random)
        errors |= {name: calibration_error(*part), f"{name}_low": low, f"{name}_high": high}
    by_chance = error_by_chance(probability, coarse, n_resamples, random)
    return errors | {"calibration_error_by_chance": by_chance}
