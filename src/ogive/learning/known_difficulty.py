"""Difficulties of items by several methods, as targets for a regressor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ogive.errors import InputError
from ogive.numerics.arrays import Floats
from ogive.numerics.rankings import is_constant
from ogive.results import Result
from ogive.tables.foreign_frames import with_row_names
from ogive.words import counted, meant

if TYPE_CHECKING:
    import pandas as pd

    from ogive.displays import Display

MODELS = ("1pl", "2pl")
PREDICTED = "so that difficulty is predicted, without a measure of error"  # of equally hard items
AVERAGE_ERROR = "average_error"


@dataclass(frozen=True, eq=False, repr=False)
class DifficultyTargets(Result):
    """How hard each item is, by several methods, as targets for a regressor.

    `abnormal` counts, for each model, items whose difficulty is farther than `limit` from 0, in
    standard deviations of ability; they were kept, clipped or dropped (NaN), as `treatment` says.
    The standard error of the average error is never 0, even if all respondents err alike.
    """

    items: tuple[str, ...]
    methods: tuple[str, ...]
    difficulties: Mapping[str, Floats]  # by method, (n_items,) each
    errors: Mapping[str, Floats]  # their standard errors
    discrimination: Floats | None  # by 2PL, if that was requested
    discrimination_se: Floats | None
    flags: tuple[str, ...]  # of the calibrations, for each item
    abnormal: Mapping[str, int]
    limit: float
    treatment: str
    abilities: (
        pd.DataFrame
    )  # one row per respondent, artificial ones included; one column per model
    notes: tuple[str, ...] = ()

    @property
    def negative(self) -> NDArray[np.bool_]:
        """Items of negative discrimination by 2PL; none if that is unknown."""
        if self.discrimination is None:
            return np.zeros(len(self.items), dtype=bool)
        return self.discrimination < 0

    def difficulty(
        self,
        method: str | None = None,
        *,
        keep_negative: bool = True,
        keep_dropped: bool = False,
    ) -> pd.Series:
        """The difficulty of each item by one method, the first unless named.

        With `keep_negative=False`, items of negative discrimination are left out; with
        `keep_dropped=True`, items without a difficulty are included, as NaN.
        """
        import pandas as pd

        chosen = self.methods[0] if method is None else method
        if chosen not in self.methods:
            raise InputError(
                f"There is no target {chosen!r}. There are: {', '.join(self.methods)}."
                f"{meant(chosen, self.methods)}"
            )
        found = pd.Series(
            self.difficulties[chosen], index=pd.Index(self.items, name="item"), name="difficulty"
        )
        return found[(keep_dropped | found.notna()) & (keep_negative | ~self.negative)]

    @property
    def meaning(self) -> str:
        """The range of difficulties, and whether the methods agree on the order of items."""
        first = self.methods[0]
        value = self.difficulties[first]
        if not np.isfinite(value).any():
            return f"None of {counted(len(self.items), 'item')} has a {said_method(first)}."
        low, high = np.quantile(value[np.isfinite(value)], [0.05, 0.95])
        text = (
            f"{counted(len(self.items), 'item')}: nine of ten have a {said_method(first)} between "
            f"{low:.2f} and {high:.2f}"
        )
        agreements = self._agreements()
        if not agreements:
            return f"{text}."
        pair, least = min(agreements.items(), key=lambda entry: entry[1])
        return (
            f"{text}; the methods agree on the order of items with a rank correlation of at least "
            f"{least:.2f} ({said_method(pair[0])} and {said_method(pair[1])})."
        )

    def _agreements(self) -> dict[tuple[str, str], float]:
        """Rank correlation of each pair of methods, if both vary."""
        from scipy.stats import spearmanr

        found = {}
        for pair in combinations(self.methods, 2):
            one, other = (self.difficulties[name] for name in pair)
            there = np.isfinite(one) & np.isfinite(other)
            if there.sum() > 2 and not is_constant(one[there]) and not is_constant(other[there]):
                found[pair] = float(spearmanr(one[there], other[there]).statistic)
        return found

    def to_frame(self) -> pd.DataFrame:
        """One row per item: each method with its standard error, discrimination and its sign."""
        import pandas as pd

        columns: dict[str, Any] = {}
        for method in self.methods:
            name = method if method == AVERAGE_ERROR else f"difficulty_{method}"
            columns |= {name: self.difficulties[method], f"{name}_se": self.errors[method]}
        if self.discrimination is not None:
            columns |= {
                "discrimination": self.discrimination,
                "discrimination_se": self.discrimination_se,
                "negative": self.negative,
            }
        columns["flag"] = self.flags
        return pd.DataFrame(columns, index=pd.Index(self.items, name="item"))

    def plot(self, **kw: Any) -> Display:
        """Distribution of difficulties by model, or of the average error if that is all."""
        import pandas as pd

        from ogive.displays import DISPLAYS

        models = [method for method in self.methods if method in MODELS] or [AVERAGE_ERROR]
        value = "difficulty" if models[0] in MODELS else AVERAGE_ERROR
        parts = [pd.DataFrame({"method": m, value: self.difficulties[m]}) for m in models]
        display: Any = DISPLAYS["histogram"]
        drawn: Display = display(pd.concat(parts, ignore_index=True), value=value, group="method")
        return drawn.plot(**kw)


def difficulty_of(given: Any) -> Any:
    """Return targets as a Series by their first method, NaN if dropped; other values unchanged."""
    if isinstance(given, DifficultyTargets):
        return given.difficulty(keep_dropped=True)
    return with_row_names(given)


def equally_hard(target: Floats) -> str:
    """Say that all known items are equally hard; empty if they differ.

    For such targets that difficulty is predicted, and figures are NaN (`PREDICTED`).
    """
    known = target[np.isfinite(target)]
    return f"all items are equally hard ({known[0]:g})" if is_constant(known) else ""


def said_method(method: str) -> str:
    """The name of a method in a sentence."""
    return "average error" if method == AVERAGE_ERROR else f"{method.upper()} difficulty"


def same_for_all(target: Floats) -> tuple[str, ...]:
    """A remark if there is nothing to learn, since all items are equally hard."""
    alike = equally_hard(target)
    return (f"{alike}, {PREDICTED}",) if alike else ()
