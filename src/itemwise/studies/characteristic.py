"""Characteristic curves of respondents: how often each is right, from easy items to hard ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from itemwise.calibration import Calibration
from itemwise.errors import InputError
from itemwise.numerics.arrays import Floats
from itemwise.numerics.binning import (
    edges_by_quantile,
    edges_by_width,
    places,
    sums_by_bin,
    wilson,
)
from itemwise.responses import Responses, Table, as_responses
from itemwise.results import Finding
from itemwise.words import counted, listed

if TYPE_CHECKING:
    import pandas as pd

    from itemwise.displays import Display

# A value for each item by name, a frame with a column `difficulty`, or as many as there are items.
Difficulty: TypeAlias = (
    "pd.Series[float] | pd.DataFrame | Mapping[str, float] | Sequence[float] | Floats"
)

WAYS = {"quantile": edges_by_quantile, "width": edges_by_width}


@dataclass(frozen=True, eq=False, repr=False)
class CharacteristicCurves(Finding):
    """Share of right responses of each respondent, bin by bin from easy items to hard ones.

    Intervals are those of Wilson at `level`: what another draw of items of the same difficulty
    would bring. Where a respondent was asked nothing in a bin, there is no share.
    """

    respondents: tuple[str, ...]
    edges: Floats  # of the bins, (n_bins + 1,)
    difficulty: Floats  # (n_bins,); median of the items in a bin, since some lie far out
    items: NDArray[np.intp]  # (n_bins,); how many there are
    n: Floats  # (n_respondents, n_bins), as all that follow; responses in the bin
    share: Floats
    low: Floats
    high: Floats
    expected: Floats | None  # by the calibration, where one was given
    level: float
    notes: tuple[str, ...] = ()

    @property
    def leaders(self) -> tuple[str, ...]:
        """The respondent of the highest share in each bin, from easy to hard."""
        best = np.argmax(np.where(np.isnan(self.share), -1.0, self.share), axis=0)
        return tuple(self.respondents[k] for k in best)

    @property
    def meaning(self) -> str:
        """Who leads overall, and where somebody else does."""
        overall = np.nansum(self.share * self.n, axis=1) / np.maximum(self.n.sum(axis=1), 1.0)
        best = int(np.argmax(overall))
        name = self.respondents[best]
        if len(self.respondents) == 1:
            return f"{name} {self._course(best)}."
        top = np.nanmax(np.where(self.n > 0, self.share, -1.0), axis=0)
        behind = np.flatnonzero(self.share[best] < top)
        text = f"{name} is right most often, {overall[best]:.2f} of all responses"
        if not behind.size:
            return f"{text}, and nobody is ahead of it in any {_bins_said(len(top))}."
        k = int(behind[-1])
        rival = int(np.argmax(np.where(self.n[:, k] > 0, self.share[:, k], -1.0)))
        sure = self.low[rival, k] > self.high[best, k]
        return (
            f"{text}, but others are ahead in {behind.size} of {counted(len(top), 'bin')} of "
            f"difficulty: around {self.difficulty[k]:.2f} it is {self.respondents[rival]}, "
            f"{self.share[rival, k]:.2f} to {self.share[best, k]:.2f}"
            f"{', beyond chance' if sure else '; the intervals overlap'}."
        )

    def _course(self, row: int) -> str:
        asked = np.flatnonzero(self.n[row] > 0)
        if not asked.size:
            return "was asked nothing"
        first, last = asked[0], asked[-1]
        said = (
            f"in {self.share[row, k]:.2f} of the {word} items "
            f"({self.low[row, k]:.2f} to {self.high[row, k]:.2f})"
            for k, word in ((first, "easiest"), (last, "hardest"))
        )
        return f"is right {' and '.join(said)}"

    def to_frame(self) -> pd.DataFrame:
        """One row a respondent and bin, from easy to hard."""
        import pandas as pd

        count, n_bins = self.share.shape
        columns: dict[str, Any] = {
            "respondent": np.repeat(np.array(self.respondents, dtype=object), n_bins),
            "bin": np.tile(np.arange(1, n_bins + 1), count),
            "difficulty": np.tile(self.difficulty, count),
            "n": self.n.reshape(-1).astype(np.intp),
            "share": self.share.reshape(-1),
            "low": self.low.reshape(-1),
            "high": self.high.reshape(-1),
        }
        if self.expected is not None:
            columns["expected"] = self.expected.reshape(-1)
        return pd.DataFrame(columns)

    def plot(self, **kw: Any) -> Display:
        """A line a respondent, with its interval."""
        from itemwise.displays import DISPLAYS

        return DISPLAYS["characteristic"](self.to_frame()).plot(**kw)


def characteristic_curves(
    responses: Table,
    difficulty: Difficulty | None = None,
    *,
    calibration: Calibration | None = None,
    bins: int | Sequence[float] = 10,
    by: str = "quantile",
    level: float = 0.95,
) -> CharacteristicCurves:
    """How often each respondent is right, by bins of item difficulty.

    `responses` are right or wrong (NaN: never asked). `difficulty` gives a value for each item, by
    name; instead, `calibration` has it, and also says what share each respondent was expected to
    get. `bins` is their number, or their edges; `by` makes them hold equally many items
    ("quantile") or equally wide ("width"). `level` is that of the intervals.
    """
    if not 0 < level < 1:
        raise InputError(f"level is {level}, but it must be between 0 and 1, such as 0.95.")
    table = as_responses(responses, "binary")
    value = _values(_source(difficulty, calibration), table.items)
    edges = _edges(value[np.isfinite(value)], bins, by)
    place = places(np.where(np.isfinite(value), value, np.nan), edges)
    used = np.unique(place[place >= 0])  # bins without an item are none
    place = np.where(place >= 0, np.searchsorted(used, place), -1)
    cells = np.where(table.cells < 0, np.nan, table.cells.astype(np.float64))
    n, right = sums_by_bin(cells, place, used.size)
    low, high = wilson(right, n, level)
    expected = None if calibration is None else _expected(calibration, table, cells, place, n)
    return CharacteristicCurves(
        respondents=table.respondents,
        edges=np.append(edges[used], edges[min(used[-1] + 1, edges.size - 1)]),
        difficulty=np.array([np.median(value[place == k]) for k in range(used.size)]),
        items=np.bincount(place[place >= 0], minlength=used.size),
        n=n,
        share=_shares(right, n),
        low=low,
        high=high,
        expected=expected,
        level=level,
        notes=_notes(table.items, value, place),
    )


def _source(difficulty: Difficulty | None, calibration: Calibration | None) -> Any:
    if calibration is not None and not isinstance(calibration, Calibration):
        raise InputError(f"calibration should be one, but it is a {type(calibration).__name__}.")
    if difficulty is not None:
        return difficulty
    if calibration is None:
        raise InputError(
            "characteristic_curves needs to know how hard the items are. Give difficulty, a value "
            "for each item, or calibration."
        )
    return calibration.items


def _values(source: Any, items: tuple[str, ...]) -> Floats:
    """The difficulty of each item; NaN where none is given."""
    if hasattr(source, "columns"):
        if "difficulty" not in source.columns:
            raise InputError(
                "difficulty is a frame without the column 'difficulty'. Give one with it, or the "
                "column itself."
            )
        source = source["difficulty"]
    try:
        if not (hasattr(source, "items") and callable(source.items)):
            given = np.asarray(source, dtype=np.float64)
            if given.shape != (len(items),):
                raise InputError(
                    f"difficulty has shape {given.shape}, but there are "
                    f"{counted(len(items), 'item')}. Give one value an item."
                )
            return given
        known = {str(name): float(value) for name, value in source.items()}
    except (TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"difficulty should give numbers, but: {error}.") from error
    if len(known) < len(source):
        raise InputError("difficulty gives an item more than one value. Give one value an item.")
    return np.array([known.get(name, np.nan) for name in items])


def _edges(values: Floats, bins: int | Sequence[float], by: str) -> Floats:
    if not values.size:
        raise InputError(
            "No item of the responses has a finite difficulty. The names of the items must be the "
            "same in both; they are in responses.items."
        )
    if by not in WAYS:
        raise InputError(f"by is {by!r}, but it should be 'quantile' or 'width'.")
    if isinstance(bins, int | np.integer):
        if bins < 1:
            raise InputError(f"bins is {bins}, but there must be at least one.")
        return WAYS[by](values, int(bins))
    edges = np.asarray(bins, dtype=np.float64)
    if edges.ndim != 1 or edges.size < 2 or not (np.diff(edges) > 0).all():
        raise InputError("bins should be a number, or at least two edges that ascend.")
    if not (places(values, edges) >= 0).any():
        raise InputError(
            f"No item has a difficulty between the edges {edges[0]:g} and {edges[-1]:g}: "
            f"they run from {values.min():.3g} to {values.max():.3g}."
        )
    return edges


def _expected(
    calibration: Calibration,
    table: Responses,
    cells: Floats,
    place: NDArray[np.intp],
    n: Floats,
) -> Floats:
    """Mean probability to be right, at each respondent's ability, over the items it was asked."""
    ability = calibration.score(table)["ability"]
    chance = calibration.probability(ability).reindex(columns=list(table.items)).to_numpy()
    _, sums = sums_by_bin(np.where(np.isnan(cells), np.nan, chance), place, n.shape[1])
    return _shares(sums, n)


def _shares(right: Floats, n: Floats) -> Floats:
    found: Floats = np.divide(right, n, out=np.full(n.shape, np.nan), where=n > 0)
    return found


def _bins_said(count: int) -> str:
    return "bin of difficulty" if count > 1 else "item"


def _notes(items: tuple[str, ...], value: Floats, place: NDArray[np.intp]) -> tuple[str, ...]:
    notes = []
    unknown = [name for name, known in zip(items, np.isfinite(value), strict=True) if not known]
    outside = int((np.isfinite(value) & (place < 0)).sum())
    if unknown:
        notes.append(f"Left out, without a finite difficulty: {listed(unknown, 'item')}.")
    if outside:
        notes.append(f"Left out, beyond the edges: {counted(outside, 'item')}.")
    return tuple(notes)
