"""Characteristic curves of respondents: how often each is right, from easy to hard items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ogive.calibration import Calibration
from ogive.errors import InputError
from ogive.numerics.arrays import Floats
from ogive.numerics.binning import sums_by_bin
from ogive.numerics.first_places import first_places
from ogive.numerics.intervals import wilson
from ogive.responses import Responses, Table, as_responses
from ogive.results import Result
from ogive.studies.difficulty.item_values import (
    Difficulty,
    along,
    check_confidence,
    curve_frame,
    difficulty_values,
    known_difficulty,
    shares,
)
from ogive.words import counted, who_has

if TYPE_CHECKING:
    import pandas as pd

    from ogive.displays import Display

__all__ = ["CharacteristicCurves", "characteristic_curves"]


@dataclass(frozen=True, eq=False, repr=False)
class CharacteristicCurves(Result):
    """Share of right responses of each respondent, by bins from easy to hard items.

    Intervals are Wilson's at `confidence`; they treat the items of a bin as a random sample. The
    share is NaN where a respondent was asked nothing in a bin.
    """

    respondents: tuple[str, ...]
    edges: Floats  # of the bins, (n_bins + 1,)
    difficulty: Floats  # (n_bins,); median of the items in a bin, since some lie far out
    items: NDArray[np.intp]  # (n_bins,); how many there are
    n: Floats  # (n_respondents, n_bins), as all that follow; responses in the bin
    share: Floats
    low: Floats
    high: Floats
    expected: Floats | None  # by the calibration, if one was given
    confidence: float
    notes: tuple[str, ...] = ()
    years: Floats | None = None  # (n_respondents,), if given

    @property
    def leaders(self) -> tuple[str, ...]:
        """The respondent with the highest share in each bin, from easy to hard."""
        best = np.argmax(np.where(np.isnan(self.share), -1.0, self.share), axis=0)
        return tuple(self.respondents[k] for k in best)

    @property
    def meaning(self) -> str:
        """Who is right most often overall, and in how many bins another is ahead."""
        overall = np.nansum(self.share * self.n, axis=1) / np.maximum(self.n.sum(axis=1), 1.0)
        first = first_places(overall)
        best, names = int(first[0]), [self.respondents[k] for k in first]
        name = names[0]
        if len(self.respondents) == 1:
            return f"{name} {self._course(best)}."
        top = np.nanmax(np.where(self.n > 0, self.share, -1.0), axis=0)
        behind = np.flatnonzero(self.share[best] < top)
        text = f"{name} is right most often, in {overall[best]:.2f} of its responses"
        if len(names) > 1:
            return (
                f"{who_has(names)} the highest share of right responses, {overall[best]:.2f}: "
                "nobody is right most often."
            )
        if not behind.size:
            return f"{text}, and no other respondent is ahead in any {_bins_said(len(top))}."
        k = int(behind[-1])
        rival = int(np.argmax(np.where(self.n[:, k] > 0, self.share[:, k], -1.0)))
        sure = self.low[rival, k] > self.high[best, k]
        return (
            f"{text}, but others are ahead in {behind.size} of {counted(len(top), 'bin')} of "
            f"difficulty: around {self.difficulty[k]:.2f} it is {self.respondents[rival]}, "
            f"{self.share[rival, k]:.2f} to {self.share[best, k]:.2f}"
            f"{', with intervals that do not overlap' if sure else '; the intervals overlap'}."
        )

    def _course(self, row: int) -> str:
        asked = np.flatnonzero(self.n[row] > 0)
        if not asked.size:
            return "was asked nothing"
        first, last = asked[0], asked[-1]
        said = (
            f"on {self.share[row, k]:.2f} of the {word} items "
            f"({self.low[row, k]:.2f} to {self.high[row, k]:.2f})"
            for k, word in ((first, "easiest"), (last, "hardest"))
        )
        return f"is right {' and '.join(said)}"

    def to_frame(self) -> pd.DataFrame:
        """One row per respondent and bin, from easy to hard."""
        cells = {"n": self.n.astype(np.intp), "share": self.share}
        cells |= {"low": self.low, "high": self.high}
        if self.expected is not None:
            cells["expected"] = self.expected
        frame = curve_frame(self.respondents, self.difficulty, **cells)
        if self.years is not None:
            frame["year"] = np.repeat(self.years, self.difficulty.size)
        return frame

    def plot(self, **kw: Any) -> Display:
        """Draw one line per respondent, with its interval."""
        from ogive.displays import DISPLAYS

        return DISPLAYS["characteristic"](self.to_frame()).plot(**kw)


def characteristic_curves(
    responses: Table,
    difficulty: Difficulty | None = None,
    *,
    calibration: Calibration | None = None,
    bins: int | Sequence[float] = 10,
    strategy: str = "quantile",
    confidence: float = 0.95,
    years: Mapping[str, float] | None = None,
) -> CharacteristicCurves:
    """Compute how often each respondent is right, by bins of item difficulty.

    `responses` are right or wrong (NaN: never asked). `difficulty` gives a value for each item, by
    name. Alternatively, `calibration` provides it, together with the share that each respondent is
    expected to get. `bins` is the number of bins, or their edges; with `strategy="quantile"` they
    hold equally many items, with "uniform" they are equally wide. `confidence` is the level of the
    intervals. `years` says when each respondent appeared; the figure then shows progress over time.

    The frame has one row per respondent and bin: difficulty, n, share right with low and high, and
    expected, if there is a calibration. After Martínez-Plumed et al. (2022).

    >>> import ogive as og
    >>> drawn = og.simulate("2pl", 100, 40, random_state=0).responses
    >>> few = drawn.select(["respondent_1", "respondent_2"])
    >>> found = og.characteristic_curves(few, calibration=og.calibrate(drawn, "1pl"), bins=2)
    >>> found.share.tolist()
    [[0.65, 0.4], [0.8, 0.3]]
    """
    check_confidence(confidence)
    table = as_responses(responses, "binary")
    source = known_difficulty(difficulty, calibration, "characteristic_curves")
    bins_found = along(difficulty_values(source, table.items), table.items, bins, strategy)
    place, n_bins = bins_found.place, bins_found.items.size
    cells = np.where(table.cells < 0, np.nan, table.cells.astype(np.float64))
    n, right = sums_by_bin(cells, place, n_bins)
    low, high = wilson(right, n, confidence)
    expected = None if calibration is None else _expected(calibration, table, cells, place, n)
    return CharacteristicCurves(
        respondents=table.respondents,
        edges=bins_found.edges,
        difficulty=bins_found.difficulty,
        items=bins_found.items,
        n=n,
        share=shares(right, n),
        low=low,
        high=high,
        expected=expected,
        confidence=confidence,
        notes=bins_found.notes,
        years=None if years is None else _years(years, table.respondents),
    )


def _years(years: Any, respondents: tuple[str, ...]) -> Floats:
    """The year of each respondent; NaN if none is given."""
    if not (hasattr(years, "items") and callable(years.items)):
        raise InputError(
            f"years should map names of respondents to years, but it is a {type(years).__name__}."
        )
    try:
        known = {str(name): float(year) for name, year in years.items()}
    except (TypeError, ValueError) as error:
        raise InputError(f"years should give numbers, such as 2019, but: {error}.") from error
    if not any(name in known for name in respondents):
        raise InputError("years names none of the respondents. Use the same names in both.")
    return np.array([known.get(name, np.nan) for name in respondents])


def _expected(
    calibration: Calibration,
    table: Responses,
    cells: Floats,
    place: NDArray[np.intp],
    n: Floats,
) -> Floats:
    """Mean probability of being right at each respondent's ability, over the items it was asked."""
    ability = calibration.score(table, items_known=True)["ability"]
    chance = calibration.probability(ability).reindex(columns=list(table.items)).to_numpy()
    _, sums = sums_by_bin(np.where(np.isnan(cells), np.nan, chance), place, n.shape[1])
    return shares(sums, n)


def _bins_said(count: int) -> str:
    return "bin of difficulty" if count > 1 else "item"
