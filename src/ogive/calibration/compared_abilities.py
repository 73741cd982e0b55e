"""Respondents compared: differences of abilities that share the items they rest on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ogive.arguments import checked_share, one_of
from ogive.errors import InputError
from ogive.numerics.arrays import Floats
from ogive.numerics.differing import ALPHA, differences_of_estimates
from ogive.numerics.first_places import FINEST
from ogive.numerics.intervals import normal_reach
from ogive.numerics.linked_parts import Parts
from ogive.numerics.multiplicity import CORRECTIONS
from ogive.responses.stored_cells import as_floats
from ogive.results import Result
from ogive.words import counted, listed

if TYPE_CHECKING:
    import pandas as pd

    from ogive.displays import Display
    from ogive.responses import Responses
    from ogive.scoring.ability_covariance import AbilityCovariance

MOST_PAIRS = 1_000_000
MOST_RIVALS = 500  # of whom all pairs are tested to say who stands out


@dataclass(frozen=True, eq=False, repr=False)
class AbilityComparison(Result):
    """Differences of abilities, with the errors that both respondents share."""

    pairs: tuple[tuple[str, str], ...]
    difference: Floats  # (n_pairs,), as all that follow: the first minus the second
    se: Floats
    low: Floats
    high: Floats
    p: Floats  # of a difference as large as this, either way, were there none
    p_adjusted: Floats  # for all pairs together
    p_above: Floats  # how likely the first stands above the second
    confidence: float
    scale: str  # which scale, and whose errors are counted
    notes: tuple[str, ...] = ()

    def to_frame(self) -> pd.DataFrame:
        """One row per pair."""
        import pandas as pd

        first, second = (np.array([pair[k] for pair in self.pairs], dtype=object) for k in (0, 1))
        columns = {
            "respondent": first,
            "other": second,
            **{name: getattr(self, name) for name in COLUMNS},
        }
        return pd.DataFrame(columns)

    @property
    def meaning(self) -> str:
        """Who stands above whom, or how many pairs can be distinguished."""
        if len(self.pairs) > 1:
            sure = int((self.p_adjusted < 1 - self.confidence).sum())
            linked = int(np.isfinite(self.p).sum())
            apart = len(self.pairs) - linked
            return (
                f"{sure} of {counted(linked, 'pair')} of respondents can be distinguished "
                f"at {self.confidence:.0%} confidence, all pairs counted."
                + (f" {counted(apart, 'pair')} cannot be compared: {UNLINKED}." if apart else "")
            )
        (first, second), d = self.pairs[0], float(self.difference[0])
        if np.isnan(d):
            return f"{first} and {second} cannot be compared: {UNLINKED}."
        where = f"{abs(d):.2f} ± {float(self.high[0] - self.difference[0]):.2f}"
        if self.p[0] < 1 - self.confidence:
            side = "above" if d > 0 else "below"
            return f"{first} stands {where} {side} {second}."
        return f"{first} and {second} cannot be distinguished: they differ by {where}."

    def plot(self, **kw: Any) -> Display:
        """Each difference with its interval."""
        from ogive.displays import RankingDisplay

        frame = self.to_frame()
        names = frame["respondent"] + " − " + frame["other"]
        return RankingDisplay(frame.set_index(names), estimate="difference").plot(**kw)


UNLINKED = "no item links them, directly or through others"
COLUMNS = ("difference", "se", "low", "high", "p", "p_adjusted", "p_above")


def compare_abilities(
    covariance: AbilityCovariance,
    a: str | Sequence[str] | None,
    b: str | Sequence[str] | None,
    confidence: float,
    correction: str,
    scale: str,
    part: Parts,
) -> AbilityComparison:
    """Differences of all pairs of one of `a` and one of `b`; NaN across unlinked parts."""
    from scipy.special import ndtr

    confidence = checked_share(confidence, "confidence", 0.95)
    one_of(correction, "correction", CORRECTIONS)
    names = _pairs(covariance.respondents, a, b)
    place = {name: k for k, name in enumerate(covariance.respondents)}
    first, second = (np.array([place[pair[k]] for pair in names]) for k in (0, 1))
    apart = np.where(part[first] == part[second], 0.0, np.nan)
    difference = covariance.ability[first] - covariance.ability[second] + apart
    se = covariance.difference_se(first, second) + apart
    z = difference / np.maximum(se, 1e-300)
    p, reach = 2 * ndtr(-np.abs(z)), normal_reach(confidence) * se
    return AbilityComparison(
        pairs=tuple(names),
        difference=difference,
        se=se,
        low=difference - reach,
        high=difference + reach,
        p=p,
        p_adjusted=CORRECTIONS[correction](p),
        p_above=ndtr(z),
        confidence=confidence,
        scale=scale,
        notes=(scale,),
    )


def level_with_strongest(covariance: AbilityCovariance) -> tuple[int, NDArray[np.bool_]]:
    """Who has the highest ability, and which others are not significantly below.

    The strongest was chosen among all, so all pairs count; of very many respondents, each pair with
    the strongest by itself, which takes no more memory than the respondents do.
    """
    from scipy.special import ndtri

    n, best = covariance.ability.size, int(np.argmax(covariance.ability))
    if n <= MOST_RIVALS:
        tested = differences_of_estimates(covariance.ability, covariance.dense())
        return best, tested.level_with(best)
    others = np.arange(n)
    se = covariance.difference_se(np.array([best]), others)
    z = (covariance.ability[best] - covariance.ability) / np.maximum(se, 1e-300)
    level = z < -ndtri(ALPHA / (n * (n - 1)))  # Bonferroni, two-sided
    level[best] = False
    return best, level


def tied_with(
    best: int, level: NDArray[np.bool_], ability: Floats, table: Responses
) -> NDArray[np.intp]:
    """Who shares the first place: of those level with the best, all that got the same in sum.

    That is the same sum of responses on the same items, or the same ability.
    """
    near = np.flatnonzero(level)
    rows = np.r_[best, near]
    some = table.select(respondents=rows)
    asked = some.observed
    same = (asked == asked[0]).all(axis=1)
    sums = np.round(np.nansum(as_floats(some.cells), axis=1), FINEST)
    equal = np.round(ability[rows], FINEST) == np.round(ability[best], FINEST)
    return np.sort(rows[(same & (sums == sums[0])) | equal])


def _pairs(
    known: tuple[str, ...], a: str | Sequence[str] | None, b: str | Sequence[str] | None
) -> list[tuple[str, str]]:
    """Names to compare: `a` with `b`, `a` with all others, or all with all."""
    if len(known) < 2:
        raise InputError("There is one respondent only; a comparison needs two.")
    first, second = (_names(known, given, name) for given, name in ((a, "a"), (b, "b")))
    if a is None or b is None:
        chosen = first if b is None else second
        few = (len(chosen) * len(known)) if len(chosen) < len(known) else len(known) ** 2 // 2
    else:
        few = len(first) * len(second)
    if few > MOST_PAIRS:
        raise InputError(
            f"That would be {few:,} pairs; at most {MOST_PAIRS:,} are compared at once. Name "
            "respondents, or use ability_covariance() for the pairs that count."
        )
    if a is None and b is None:
        return list(combinations(known, 2))
    if isinstance(a, str) and isinstance(b, str) and a == b:
        raise InputError(f"a and b are both {a!r}; a respondent differs from others only.")
    pairs = [(x, y) for x in first for y in second if x != y]
    if not pairs:
        raise InputError("a and b hold the same single respondent; name another one.")
    return pairs


def _names(known: tuple[str, ...], given: str | Sequence[str] | None, name: str) -> list[str]:
    if given is None:
        return list(known)
    if not isinstance(given, Iterable):
        raise InputError(f"{name} is {given!r}; give the name of a respondent, or several.")
    wanted = [given] if isinstance(given, str) else list(given)
    if not wanted:
        raise InputError(f"{name} is empty; name at least one respondent.")
    unknown = [each for each in wanted if each not in set(known)]
    if unknown:
        raise InputError(
            f"There is no respondent {unknown[0]!r} here. There is {listed(known, 'respondent')}."
        )
    return list(dict.fromkeys(wanted))
